"""What an observer of a run is told: every iteration, with its batch and its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Event", "Iteration", "Observer"]


class Event(NamedTuple):
    """Something that happened to a request; ``value`` are tokens reused at a resume, or blocks swapped.

    ``kind`` is one of preempt, resume, swap_out, swap_in, shed, demote, reject, abort.

    Examples
    --------
    >>> Event(2.0, "preempt", 7)
    Event(at_s=2.0, kind='preempt', position=7, value=0)
    """

    at_s: float
    kind: str
    position: int
    value: int = 0


class Iteration(NamedTuple):
    """One pass of the scheduler and the step that it led to; requests are given by position.

    A pass that only preempted, shed or rejected has an empty batch and takes no time.
    """

    start_s: float
    end_s: float
    batch: Mapping[int, tuple[str, int]]
    cached: Mapping[int, int]
    preempted: Sequence[int]
    swapped_out: Mapping[int, int]
    swapped_in: Mapping[int, int]
    finished: Sequence[int]
    free_blocks: int
    events: Sequence[Event]
    counters: Mapping[int, float]


Observer = Callable[[Iteration], None]
