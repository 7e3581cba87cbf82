"""What an observer of a run is told: every iteration, with its batch and its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Event", "Iteration", "Observer"]


class Event(NamedTuple):
    """Something that happened to a request.

    Parameters
    ----------
    at_s : float
        Moment, seconds.
    kind : str
        One of preempt, resume, swap_out, swap_in, shed, demote, reject, abort.
    position : int
        Row of the request.
    value : int
        Tokens reused at a resume, blocks moved at a swap, else 0.

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

    Parameters
    ----------
    start_s, end_s : float
        Of the step, seconds.
    batch : mapping of int to (str, int)
        What each request computes: ``prefill`` or ``decode``, and the number of tokens.
    cached : mapping of int to int
        Those admitted, with the tokens that each reuses.
    preempted : sequence of int
        Those that lost their blocks, swapped ones included.
    swapped_out, swapped_in : mapping of int to int
        Those moved to the host and back, with their blocks.
    finished : sequence of int
        Those whose last token came at the end of the step.
    free_blocks : int
        At the end of the step.
    events : sequence of Event
        In the order in which they happened.
    counters : mapping of int to float
        Service by client, where the order of the queue keeps count.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.policies import Policy
    >>> from sim.reference import simulate
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> seen: list[Iteration] = []
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[2])
    >>> replica = Replica(step_time=ConstantStep(0.5), n_blocks=4)
    >>> _ = simulate(asked, Policy(name="x"), replica, observer=seen.append)
    >>> [(step.end_s, step.batch, step.finished) for step in seen]
    [(0.5, {0: ('prefill', 20)}, []), (1.0, {0: ('decode', 1)}, [0])]
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
