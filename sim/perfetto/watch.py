"""Observers of a run that keep who took part in each step, phases of requests, and gaps between tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from qtheory.basics import checks
from sim.cluster import ClusterRecords, PoolRecords
from sim.observe import Iteration, Observer
from sim.record import Records, StepRuns

from .lane import Lane, Phase, Step

__all__ = ["Watch", "lanes_of", "phases_of"]

Gap = tuple[int, int, int]  # lane, and the steps that gave a token and the next one
_NAMED = 5  # requests of a gap that are kept by name


class Watch:
    """What is seen of a run beyond its records; one observer for each replica.

    Parameters
    ----------
    n_lanes : int
        Replicas, >= 1; with prefill and decode apart the prefill instances come first.
    prompt_tokens : sequence of int
        Lengths of the prompts, by row.
    n_blocks : sequence of int
        KV blocks of each replica.

    Attributes
    ----------
    steps : list of list of Step
        Of each lane, in order.
    phases : list of Phase
        Those that have begun with a step or a preemption and have ended with the next one.
    open : dict of int to Phase
        The last phase of each request, from its beginning to the end of its last step in it.
    gaps : dict of (int, int, int) to (int, list of int)
        Of a lane, between two of its steps: how many requests waited from a token of the first to one of the
        second, and some of them.

    Raises
    ------
    ConfigError
        If there is no lane.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.policies import Policy
    >>> from sim.reference import simulate
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[2])
    >>> watch = Watch(1, [20], [4])
    >>> replica = Replica(step_time=ConstantStep(0.5), n_blocks=4)
    >>> _ = simulate(asked, Policy(name="x"), replica, observer=watch.observers[0])
    >>> [(step.prompts, step.n_decodes) for step in watch.steps[0]]
    [({0: 20}, 0), ({}, 1)]
    """

    def __init__(self, n_lanes: int, prompt_tokens: Sequence[int], n_blocks: Sequence[int]) -> None:
        checks.integer(n_lanes=n_lanes)
        self.steps: list[list[Step]] = [[] for _ in range(n_lanes)]
        self.phases: list[Phase] = []
        self.open: dict[int, Phase] = {}
        self.gaps: dict[Gap, tuple[int, list[int]]] = {}
        self._n_blocks = list(n_blocks)
        self._known = list(prompt_tokens)
        self._computed: dict[int, int] = {}
        self._last_token: dict[int, tuple[int, int]] = {}  # lane and step of the last token of a request

    @property
    def observers(self) -> list[Observer]:
        """One for each replica."""
        return [partial(self._see, lane) for lane in range(len(self.steps))]

    def _see(self, lane: int, seen: Iteration) -> None:
        for row in seen.preempted:
            self._turn(row, "swapped" if row in seen.swapped_out else "preempted", lane, seen.start_s)
        if not seen.batch:
            return
        steps = self.steps[lane]
        prompts = {row: n for row, (phase, n) in seen.batch.items() if phase == "prefill"}
        n_used = self._n_blocks[lane] - seen.free_blocks
        steps.append(Step(seen.start_s, seen.end_s, prompts, len(seen.batch) - len(prompts), n_used))
        self._computed.update(seen.cached)
        for row, (name, n) in seen.batch.items():
            self._take_part(row, name, lane, seen)
            if self._gives_token(row, name, n):
                self._token(row, lane, len(steps) - 1)

    def _turn(self, row: int, name: str, lane: int, at_s: float) -> None:
        """Begin a phase now."""
        if (before := self.open.get(row)) is not None:
            end_s = before.end_s if before.name == "prefill" and name == "decode" else at_s
            if before.lane != lane:
                end_s = min(before.end_s, at_s)
            self.phases.append(before._replace(end_s=end_s))
            at_s = end_s if before.lane == lane else at_s
        self.open[row] = Phase(row, name, at_s, at_s, lane)

    def _take_part(self, row: int, name: str, lane: int, seen: Iteration) -> None:
        now = self.open.get(row)
        if now is None or now.name != name or now.lane != lane:
            self._turn(row, name, lane, seen.start_s)
        self.open[row] = self.open[row]._replace(end_s=seen.end_s)

    def _gives_token(self, row: int, name: str, n: int) -> bool:
        computed = self._known[row] if name == "decode" else self._computed.get(row, 0) + n
        self._computed[row] = computed
        if computed < self._known[row]:
            return False
        self._known[row] += 1
        return True

    def _token(self, row: int, lane: int, step: int) -> None:
        before = self._last_token.get(row)
        self._last_token[row] = (lane, step)
        if before is None or before[0] != lane:
            return
        n, named = self.gaps.get((lane, before[1], step), (0, []))
        if n < _NAMED:
            named.append(row)
        self.gaps[lane, before[1], step] = n + 1, named


def lanes_of(
    found: Records | ClusterRecords | PoolRecords,
    watch: Watch | None = None,
    *,
    names: Sequence[str] | None = None,
) -> list[Lane]:
    """A lane for each replica of a run.

    Parameters
    ----------
    found : Records, ClusterRecords or PoolRecords
        Of one replica, of several behind a router, or of prefill and decode apart.
    watch : Watch, optional
        That has watched the run: the steps then have names.
    names : sequence of str, optional
        Of the replicas (default: replica 0, replica 1, ...).

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.engine import simulate
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[2])
    >>> records = simulate(asked, Policy(name="x"), Replica(step_time=ConstantStep(0.5), n_blocks=4))
    >>> [lane.name for lane in lanes_of(records)]
    ['replica 0']
    """
    if isinstance(found, Records):
        parts, place, n = [found], [0], 1
    elif isinstance(found, ClusterRecords):
        parts, place, n = list(found.parts), list(found.part_replica), found.n_replicas
    else:
        n = len(found.instances)
        parts, place = list(found.instances), list(range(n))
    names = names or [f"replica {index}" for index in range(n)]
    lanes = []
    for index, name in enumerate(names):
        own = [part for part, replica in zip(parts, place, strict=True) if replica == index]
        watched = {step.start_s: step for step in watch.steps[index]} if watch else {}
        n_blocks = own[0].n_blocks if own else 0
        lanes.append(Lane(name, _joined([part.steps for part in own]), n_blocks, watched))
    return lanes


def _joined(parts: Sequence[StepRuns]) -> StepRuns:
    columns: dict[str, Any] = {}
    for item in fields(StepRuns):
        found = [getattr(part, item.name) for part in parts]
        columns[item.name] = np.concatenate(found) if found else np.empty(0)
    return StepRuns(**columns)


def phases_of(found: Records | ClusterRecords | PoolRecords, watch: Watch | None = None) -> list[Phase]:
    """Phases of all requests; without a watch those that records tell: queued, prefill, decode.

    Parameters
    ----------
    found : Records, ClusterRecords or PoolRecords
    watch : Watch, optional
        That has watched the run: it also knows of preemptions, and who moved.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.engine import simulate
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> asked = Requests(arrival_s=[0.0, 0.2], prompt_tokens=[20, 4], output_tokens=[2, 1])
    >>> records = simulate(asked, Policy(name="x"), Replica(step_time=ConstantStep(0.5), n_blocks=4))
    >>> for phase in phases_of(records):
    ...     print(phase.request, phase.name, phase.start_s, phase.end_s)
    0 prefill 0.0 0.5
    0 decode 0.5 1.0
    1 queued 0.2 0.5
    1 prefill 0.5 1.0
    """
    records = found if isinstance(found, Records) else found.records
    phases: list[Phase] = []
    for row in np.flatnonzero(~np.isnan(records.sent_s)).tolist():
        phases += _of_row(row, records)
    if watch is not None:
        first = {phase.request: phase.lane for phase in (*watch.open.values(), *reversed(watch.phases))}
        queued = [phase for phase in phases if phase.name == "queued"]
        phases = [phase._replace(lane=first.get(phase.request, phase.lane)) for phase in queued]
        phases += watch.phases
        for row, last in watch.open.items():
            end_s = float(np.nan_to_num(records.finish_s[row], nan=records.end_s))
            phases.append(last._replace(end_s=max(end_s, last.start_s)))
    if isinstance(found, PoolRecords):
        phases += _transfers(found)
    phases.sort(key=lambda phase: (phase.request, phase.start_s, phase.end_s))
    return [phase for phase in phases if phase.end_s > phase.start_s]


def _of_row(row: int, records: Records) -> list[Phase]:
    """What the moments of a request tell."""
    last_s = float(np.nan_to_num(records.finish_s[row], nan=records.end_s))
    marks = [float(records.sent_s[row])]
    for column in (records.first_scheduled_s, records.first_token_s):
        at_s = float(column[row])
        marks.append(last_s if math.isnan(at_s) else min(max(at_s, marks[-1]), last_s))
    lane = 0 if records.replica is None else max(int(records.replica[row]), 0)
    names = ("queued", "prefill", "decode")
    ends = [*marks[1:], last_s]
    return [Phase(row, name, start, end, lane) for name, start, end in zip(names, marks, ends, strict=True)]


def _transfers(found: PoolRecords) -> list[Phase]:
    rows = np.flatnonzero(~np.isnan(found.transfer_start_s) & ~np.isnan(found.transfer_end_s)).tolist()
    times = zip(rows, found.transfer_start_s[rows].tolist(), found.transfer_end_s[rows].tolist(), strict=True)
    return [Phase(row, "transfer", start, end, int(found.prefill[row])) for row, start, end in times]
