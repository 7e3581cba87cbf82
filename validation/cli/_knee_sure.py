"""How well a knee is known, in words: its interval, and what that rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtheory.basics.units import percent
from qtheory.report import with_limits

if TYPE_CHECKING:
    from qtheory.planning import Knee

__all__ = ["certainty", "close_to"]

_ABOUT = ("interval", "no interval")  # how the note on the interval of a prediction begins


def certainty(knee: Knee, level: float) -> str:
    """A sentence or two.

    Parameters
    ----------
    knee : Knee
        With a rate.
    level : float
        Coverage of its interval.

    Examples
    --------
    >>> from qtheory.planning import Knee
    >>> found = Knee(scheduler="fcfs", answered_by="theory, closed", goodput_frac=0.9, knee_rps=4.0)
    >>> certainty(found, 0.95)
    'Predicted (theory, closed), without an interval. --refine simulates it.'
    """
    if "simulation" in knee.answered_by:
        if knee.known_frac is None:
            return "Simulated; all runs are alike, so there is no interval."
        shown = with_limits(knee.row(), "knee_rps")
        return f"Simulated: {shown} req/s at {percent(level)}, with {knee.n_requests:,} requests."
    why = next((note.partition(": ")[2] for note in knee.notes if note.startswith(_ABOUT)), "")
    rests = f": {why}" if why else ""
    if knee.known_frac is None:
        return f"Predicted ({knee.answered_by}), without an interval{rests}. --refine simulates it."
    return (
        f"Predicted ({knee.answered_by}): at {percent(level)} between {knee.knee_rps_low:.4g} and "
        f"{knee.knee_rps_high:.4g} req/s{rests}. --refine simulates it."
    )


def close_to(best: Knee, others: Sequence[Knee]) -> list[str]:
    """Schedulers whose intervals reach into that of the largest knee.

    Parameters
    ----------
    best : Knee
        The largest.
    others : sequence of Knee
        All that have a knee; those without an interval are passed over.
    """
    if best.knee_rps_low is None:
        return []
    return [
        other.scheduler
        for other in others
        if other is not best and other.knee_rps_high is not None and other.knee_rps_high >= best.knee_rps_low
    ]
