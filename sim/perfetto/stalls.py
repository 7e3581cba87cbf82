"""The longest gaps between tokens, and the requests that made them long."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qtheory.basics import checks

from .lane import Step
from .watch import Watch

__all__ = ["Stall", "longest_stalls"]

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A gap between two tokens of some requests.

    Parameters
    ----------
    gap_s : float
        Its length, seconds.
    from_s : float
        When it began, seconds.
    lane : int
        The replica.
    n_requests : int
        How many waited.
    requests : tuple of int
        Some of them.
    n_steps : int
        Steps in it.
    because : str
        What was computed meanwhile, and for whom.

    Examples
    --------
    >>> Stall(gap_s=0.4, from_s=3.0, lane=0, n_requests=1, requests=(2,), n_steps=1, because="-").gap_s
    0.4
    """

    gap_s: float
    from_s: float
    lane: int
    n_requests: int
    requests: tuple[int, ...]
    n_steps: int
    because: str


def longest_stalls(watch: Watch, n: int = 5, *, window: tuple[float, float] = (0.0, math.inf)) -> list[Stall]:
    """The ``n`` longest gaps of a run, the longest first; requests that waited together count once.

    Parameters
    ----------
    watch : Watch
        That has watched the run.
    n : int
        Gaps at most, >= 1.
    window : (float, float)
        Gaps that begin later than it ends or end before it begins are left out, seconds.

    Raises
    ------
    ConfigError
        If ``n`` is below 1.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.policies import Policy, PrefillFirst
    >>> from sim.reference import simulate
    >>> from sim.replica import Replica
    >>> from sim.testing import AffineStep
    >>> asked = Requests(arrival_s=[0.0, 1.2], prompt_tokens=[20, 400], output_tokens=[3, 1])
    >>> watch = Watch(1, [20, 400], [40])
    >>> replica = Replica(step_time=AffineStep(base_s=0.5, per_token_s=0.01), n_blocks=40)
    >>> policy = Policy(name="x", composition=PrefillFirst())
    >>> _ = simulate(asked, policy, replica, observer=watch.observers[0])
    >>> for stall in longest_stalls(watch, 1):
    ...     print(f"{stall.gap_s:.2f} s, request {stall.requests[0]}: {stall.because}")
    5.01 s, request 0: prompt of request 1 (400 tokens)
    """
    checks.integer(stalls=n)
    lengths = sorted(
        (watch.steps[lane][before].end_s - watch.steps[lane][step].end_s, lane, before, step)
        for lane, before, step in watch.gaps
        if watch.steps[lane][step].end_s >= window[0] and watch.steps[lane][before].end_s <= window[1]
    )[:n]
    found = []
    for minus_s, lane, before, step in lengths:
        n_waited, named = watch.gaps[lane, before, step]
        steps = watch.steps[lane][before + 1 : step + 1]
        found.append(
            Stall(
                gap_s=-minus_s,
                from_s=watch.steps[lane][before].end_s,
                lane=lane,
                n_requests=n_waited,
                requests=tuple(named),
                n_steps=len(steps),
                because=_because(steps, watch, named[0]),
            )
        )
    return found


def _because(steps: list[Step], watch: Watch, row: int) -> str:
    """Prompts that were computed meanwhile, the longest first; own ones come of a preemption."""
    tokens: dict[int, int] = {}
    for step in steps:
        for other, n in step.prompts.items():
            tokens[other] = tokens.get(other, 0) + n
    out = [
        phase.name
        for phase in watch.phases
        if phase.request == row
        and phase.name in ("preempted", "swapped")
        and phase.start_s >= steps[0].start_s
        and phase.end_s <= steps[-1].end_s
    ]
    said = [f"{out[0]}: its memory went to others"] if out else []
    rows = sorted(tokens, key=lambda other: (-tokens[other], other))
    if rows:
        parts = [f"{other} ({tokens[other]:,} tokens)" for other in rows[:_NAMED]]
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        said.append(f"prompt{'s' if len(rows) > 1 else ''} of request {', '.join(parts)}{more}")
    return "; ".join(said) or f"no prompts: {max(step.n_decodes for step in steps)} requests decode at once"
