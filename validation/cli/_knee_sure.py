"""How well a knee is known, in words: an interval, or the errors that such predictions had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtheory.report import with_limits

if TYPE_CHECKING:
    from qtheory.planning import Knee
    from validation.knees import Asked

__all__ = ["certainty", "close_to"]

_MEASURED_ON = ("fcfs", "chunked", "slo")  # schedulers in the table of errors that `doubt_of` reads
_WIDTHS = 2.0  # standard deviations of a prediction that count as not told apart


def certainty(asked: Asked, knee: Knee, level: float) -> str:
    """One sentence.

    Parameters
    ----------
    asked : Asked
    knee : Knee
        With a rate.
    level : float
        Coverage of its interval, if it was simulated.
    """
    if "simulation" in knee.answered_by:
        if knee.known_frac is None:
            return "Simulated; all runs are alike, so there is no interval."
        shown = with_limits(knee.row(), "knee_rps")
        return f"Simulated: {shown} req/s at {100 * level:g} %, with {knee.n_requests:,} requests."
    spread = _spread(asked, knee)
    if spread is None:
        return (
            f"Predicted ({knee.answered_by}), so without an interval; how far such a prediction of "
            f"{knee.scheduler} is off was not measured. --refine simulates it."
        )
    from qtheory.planning.fleet_doubt import doubt_of

    doubt = doubt_of(knee.answered_by, knee.binds, asked.replica.hardware)
    steps = (
        f"step times add an sd of {100 * doubt.steps_frac:.0f} %"
        if doubt.steps_frac
        else f"without the error of step times, of which none is measured for {asked.replica.hardware.name}"
    )
    return (
        f"Predicted ({knee.answered_by}), so without an interval. Such predictions were off by "
        f"{100 * doubt.bias_frac:+.1f} % on average, sd {100 * doubt.model_frac:.1f} % ({doubt.measured}); "
        f"{steps}. --refine simulates it."
    )


def close_to(asked: Asked, knee: Knee, others: Sequence[tuple[Asked, Knee]]) -> list[str]:
    """Schedulers whose knees may as well be as high, by what is known of the errors of both.

    Parameters
    ----------
    asked : Asked
    knee : Knee
        The largest.
    others : sequence of (Asked, Knee)
        All that have a knee.
    """
    low = _reach(asked, knee, -1)
    return [other.scheduler for each, other in others if other is not knee and _reach(each, other, +1) >= low]


def _reach(asked: Asked, knee: Knee, sign: int) -> float:
    """The end of what a knee may be; the knee itself where nothing is known of its errors."""
    rate = knee.knee_rps or 0.0
    if knee.known_frac is not None:
        end = knee.knee_rps_low if sign < 0 else knee.knee_rps_high
        return rate if end is None else end
    return rate * (1 + sign * _WIDTHS * (_spread(asked, knee) or 0.0))


def _spread(asked: Asked, knee: Knee) -> float | None:
    """Standard deviation of the model's errors where it was measured; errors of step times are shared."""
    from qtheory.planning.fleet_doubt import doubt_of

    name = asked.replica.scheduler.name
    left_out = name == "slo" and knee.binds == "KV memory"
    if name not in _MEASURED_ON or left_out or "simulation" in knee.answered_by:
        return None
    return doubt_of(knee.answered_by, knee.binds, asked.replica.hardware).model_frac
