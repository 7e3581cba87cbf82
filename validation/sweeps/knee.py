"""Where a measured or predicted sweep turns: the rate at which mean TTFT passes a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Knee", "knee_of", "knee_ttft_s"]

_TIMES = 10.0
"""Mean TTFT at the knee, in multiples of that of the lowest rate, where nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Where TTFT passes a limit.

    Parameters
    ----------
    low_rps, high_rps : float
        Neighbouring rates of the sweep, below and above.
    rate_rps : float
        Between them, on a line of the logarithm of TTFT.

    Examples
    --------
    >>> Knee(low_rps=4.0, high_rps=8.0, rate_rps=5.0).holds(6.0)
    True
    """

    low_rps: float
    high_rps: float
    rate_rps: float

    def holds(self, rate_rps: float) -> bool:
        """Whether a rate lies between the two neighbours."""
        return self.low_rps <= rate_rps <= self.high_rps


def knee_ttft_s(points: Sequence[tuple[float, float]], given: float | None) -> float | None:
    """The TTFT that marks the knee: the given one, else ten times that of the lowest rate.

    Parameters
    ----------
    points : sequence of (rate, TTFT)
        Requests per second and seconds.
    given : float or None

    Examples
    --------
    >>> knee_ttft_s([(8.0, 3.0), (1.0, 0.05)], None)
    0.5
    """
    return given if given is not None else (_TIMES * min(points)[1] if points else None)


def knee_of(points: Sequence[tuple[float, float]], limit_s: float) -> Knee | None:
    """The first crossing of a limit, None if there is none between two rates of the sweep.

    Parameters
    ----------
    points : sequence of (rate, TTFT)
        Requests per second and seconds > 0; runs at one rate count with the mean of their logarithms.
    limit_s : float
        Mean TTFT, > 0.

    Examples
    --------
    >>> knee_of([(1.0, 0.1), (2.0, 0.1), (4.0, 10.0)], 1.0)
    Knee(low_rps=2.0, high_rps=4.0, rate_rps=3.0)
    """
    by_rate: dict[float, list[float]] = {}
    for rate, ttft in points:
        by_rate.setdefault(rate, []).append(math.log(ttft / limit_s))
    curve = [(rate, sum(logs) / len(logs)) for rate, logs in sorted(by_rate.items())]
    for (low, below), (high, above) in pairwise(curve):
        if below <= 0 < above:
            return Knee(low_rps=low, high_rps=high, rate_rps=low + (high - low) * below / (below - above))
    return None
