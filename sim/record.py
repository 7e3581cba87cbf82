"""What a simulation leaves behind, as columns: a row a request, a row a run of equal steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests

__all__ = ["GapRuns", "Records", "Status", "StepGaps", "StepRuns", "unrolled"]

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


class Status(IntEnum):
    """How a request ended."""

    FINISHED = 0
    UNFINISHED = 1
    SHED = 2
    REJECTED = 3
    ABORTED = 4


def unrolled(n_steps: Ints) -> tuple[Ints, Ints]:
    """One entry a step: the run that it belongs to (k,), and its place in that run (k,).

    Parameters
    ----------
    n_steps : array of int, shape (m,)
        Steps of each run, >= 0.

    Examples
    --------
    >>> [part.tolist() for part in unrolled(np.array([2, 3]))]
    [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]]
    """
    first = np.cumsum(n_steps) - n_steps  # (m,) where a run starts among all steps
    run = np.repeat(np.arange(len(n_steps)), n_steps)  # (k,)
    return run, np.arange(len(run)) - first[run]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GapRuns:
    """Inter-token gaps, pooled over requests, as runs; all arrays of shape (m,).

    Run j stands for ``n_steps[j]`` consecutive steps; in its step i (0, 1, ...) ``n_tokens[j]`` tokens follow
    their predecessors after ``gap_s[j] + i * slope_s[j]`` seconds.

    Parameters
    ----------
    gap_s, slope_s : array of float
        First gap of a run and its growth from step to step, seconds.
    n_steps, n_tokens : array of int
        Steps of a run, and tokens in each of them, >= 1.

    Examples
    --------
    >>> one, three, eight = np.array([0.5]), np.array([3]), np.array([8])
    >>> runs = GapRuns(gap_s=one, slope_s=one / 2, n_steps=three, n_tokens=eight)
    >>> gap_s, n_tokens = runs.expand()
    >>> gap_s.tolist(), n_tokens.tolist()
    ([0.5, 0.75, 1.0], [8, 8, 8])
    """

    gap_s: Floats
    slope_s: Floats
    n_steps: Ints
    n_tokens: Ints

    @property
    def n_gaps(self) -> int:
        """Gaps that differ: one a step."""
        return int(np.sum(self.n_steps, dtype=np.int64))

    def in_parts(self, most_runs: int = 65_536) -> Iterator[tuple[Floats, Ints]]:
        """As `expand`, but at most ``most_runs`` runs at a time: memory stays bounded."""
        for low in range(0, len(self.gap_s), most_runs):
            part = slice(low, low + most_runs)
            run, offset = unrolled(self.n_steps[part])  # (k,), (k,)
            yield self.gap_s[part][run] + offset * self.slope_s[part][run], self.n_tokens[part][run]

    def expand(self) -> tuple[Floats, Ints]:
        """Gaps (k,) in seconds, one entry a step, and how many tokens had each (k,)."""
        return _joined(self.in_parts())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepRuns:
    """Engine steps, as runs; all arrays of shape (m,).

    Run j holds ``n_steps[j]`` steps from ``start_s[j]`` to ``end_s[j]`` without a break; in each of them
    ``n_decodes[j]`` jobs decode, and the summed context grows by that much from step to step, starting at
    ``decode_context_tokens[j]``. A run with prefill tokens has one step. Waiting jobs, running jobs and used
    blocks are those of the first step of the run, after its scheduling pass.

    Parameters
    ----------
    start_s, end_s : array of float
        Moments, seconds.
    n_steps : array of int
        Steps of a run, >= 1.
    n_decodes, decode_context_tokens, prefill_tokens, prefill_context_tokens, n_sampled : array of int
        Load of the first step of a run, as in `qtheory.system.steptime.StepLoad`.
    prefill_work : array of float
        As there.
    n_waiting, n_running, used_blocks : array of int
        Jobs that wait and run, and blocks of KV memory in use.

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.reference import simulate
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[3])
    >>> steps = simulate(asked, Policy(name="x"), Replica(step_time=ConstantStep(0.5), n_blocks=4)).steps
    >>> steps.start_s.tolist(), steps.prefill_tokens.tolist(), steps.decode_context_tokens.tolist()
    ([0.0, 0.5, 1.0], [20, 0, 0], [0, 21, 22])
    """

    start_s: Floats
    end_s: Floats
    n_steps: Ints
    n_decodes: Ints
    decode_context_tokens: Ints
    prefill_tokens: Ints
    prefill_work: Floats
    prefill_context_tokens: Ints
    n_sampled: Ints
    n_waiting: Ints
    n_running: Ints
    used_blocks: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepGaps:
    """Inter-token gaps that steps tell themselves: each decode follows its last token at the end of its step.

    Parameters
    ----------
    steps : StepRuns
    slope_s : array of float
        Growth of the gap from step to step of a run, seconds; NaN where the gaps of a run stand in ``more``.
    more : GapRuns
        All other gaps.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.engine import simulate
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> requests = Requests(arrival_s=[0.0], prompt_tokens=[8], output_tokens=[4])
    >>> replica = Replica(step_time=ConstantStep(0.5), n_blocks=8)
    >>> gaps = simulate(requests, Policy(name="chunked"), replica).gaps
    >>> gaps.n_gaps, gaps.expand()[0].tolist()
    (3, [0.5, 0.5, 0.5])
    """

    steps: StepRuns
    slope_s: Floats
    more: GapRuns

    @property
    def n_gaps(self) -> int:
        """Gaps that differ: one a step."""
        told = ~np.isnan(self.slope_s)
        return int(np.sum(self.steps.n_steps[told], dtype=np.int64)) + self.more.n_gaps

    def in_parts(self, most_runs: int = 65_536) -> Iterator[tuple[Floats, Ints]]:
        """As `expand`, but at most ``most_runs`` runs at a time: memory stays bounded."""
        steps = self.steps
        for low in range(0, len(self.slope_s), most_runs):
            told = low + np.flatnonzero(~np.isnan(self.slope_s[low : low + most_runs]))
            slope_s, n_steps = self.slope_s[told], steps.n_steps[told]
            mean_s = (steps.end_s[told] - steps.start_s[told]) / n_steps
            part = GapRuns(
                gap_s=mean_s - slope_s * ((n_steps - 1) / 2),
                slope_s=slope_s,
                n_steps=n_steps,
                n_tokens=steps.n_decodes[told],
            )
            yield from part.in_parts(most_runs)
        yield from self.more.in_parts(most_runs)

    def expand(self) -> tuple[Floats, Ints]:
        """Gaps (k,) in seconds, one entry a step, and how many tokens had each (k,)."""
        return _joined(self.in_parts())


def _joined(parts: Iterator[tuple[Floats, Ints]]) -> tuple[Floats, Ints]:
    found = list(parts) or [(np.empty(0), np.empty(0, dtype=np.int64))]
    return np.concatenate([gap_s for gap_s, _ in found]), np.concatenate([n for _, n in found])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Everything that was seen in one run; arrays of shape (n,), NaN where a moment never came.

    Parameters
    ----------
    requests : Requests
        What was asked for.
    sent_s : array of float
        When the request reached the engine: its arrival, or later if the client held it back.
    status : array of int
        A `Status` each.
    first_scheduled_s, first_token_s, finish_s : array of float
        First step in which it computed (its start), end of the step that gave its first token, and the
        moment it ended: last token, or shed or rejected.
    n_preemptions : array of int
        How often it lost its blocks.
    cached_tokens : array of int
        Prefix tokens reused at its first admission.
    recomputed_tokens : array of int
        Tokens computed again after preemptions.
    gaps, steps : GapRuns, StepRuns
        Inter-token gaps of all tokens, and the steps of the engine.
    n_blocks : int
        Blocks of KV memory in the pool.
    end_s : float
        Clock at the end of the run, seconds.
    replica : array of int, optional
        Of a cluster: the replica that had the request last, -1 if none had it. None: there is one replica.

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.reference import simulate
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[20, 900], output_tokens=[3, 1])
    >>> records = simulate(asked, Policy(name="x"), Replica(step_time=ConstantStep(0.5), n_blocks=4))
    >>> [Status(how).name for how in records.status], records.finish_s.tolist()
    (['FINISHED', 'REJECTED'], [1.5, 0.0])
    """

    requests: Requests
    sent_s: Floats
    status: Ints
    first_scheduled_s: Floats
    first_token_s: Floats
    finish_s: Floats
    n_preemptions: Ints
    cached_tokens: Ints
    recomputed_tokens: Ints
    gaps: GapRuns | StepGaps
    steps: StepRuns
    n_blocks: int
    end_s: float
    replica: Ints | None = None
