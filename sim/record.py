"""What a simulation leaves behind, as columns: a row a request, a row a run of equal steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests

__all__ = ["GapRuns", "Records", "Status", "StepRuns"]

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


class Status(IntEnum):
    """How a request ended."""

    FINISHED = 0
    UNFINISHED = 1
    SHED = 2
    REJECTED = 3
    ABORTED = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GapRuns:
    """Inter-token gaps, pooled over requests, as runs; all arrays of shape (m,).

    Run j stands for ``n_steps[j]`` consecutive steps; in its step i (0, 1, ...) ``n_tokens[j]`` tokens follow
    their predecessors after ``gap_s[j] + i * slope_s[j]`` seconds.
    """

    gap_s: Floats
    slope_s: Floats
    n_steps: Ints
    n_tokens: Ints

    def expand(self) -> tuple[Floats, Ints]:
        """Gaps (k,) in seconds, one entry a step, and how many tokens had each (k,)."""
        first = np.cumsum(self.n_steps) - self.n_steps  # (m,) where a run starts among all steps
        run = np.repeat(np.arange(len(self.n_steps)), self.n_steps)  # (k,)
        offset = np.arange(len(run)) - first[run]  # (k,) step within its run
        return self.gap_s[run] + offset * self.slope_s[run], self.n_tokens[run]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepRuns:
    """Engine steps, as runs; all arrays of shape (m,).

    Run j holds ``n_steps[j]`` steps from ``start_s[j]`` to ``end_s[j]`` without a break; in each of them
    ``n_decodes[j]`` jobs decode, and the summed context grows by that much from step to step, starting at
    ``decode_context_tokens[j]``. A run with prefill tokens has one step. Waiting jobs, running jobs and used
    blocks are those of the first step of the run, after its scheduling pass.
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
    cached_tokens : array of int
        Prefix tokens reused at its first admission.
    recomputed_tokens : array of int
        Tokens computed again after preemptions.
    gaps, steps
        Inter-token gaps of all tokens, and the steps of the engine.
    n_blocks : int
        Blocks of KV memory in the pool.
    end_s : float
        Clock at the end of the run.
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
    gaps: GapRuns
    steps: StepRuns
    n_blocks: int
    end_s: float
