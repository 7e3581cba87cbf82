"""What a prediction over time says: of all requests, of stretches of the time, and of overloads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["MOST_STRETCHES", "USUAL_STRETCHES", "OverTime", "Overload", "Stretch"]

USUAL_STRETCHES, MOST_STRETCHES = 24, 1000
"""Parts of the time that are told apart if nobody says how many, and at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of the time; numbers are of the requests that come in it.

    Parameters
    ----------
    start_s, length_s : float
        Seconds.
    rate_rps : float
        Mean rate in it, requests per second.
    load_frac : float
        That rate over the stability limit.
    goodput_frac : float
        Share of its requests that are good.
    mean_ttft_s, p50_ttft_s, p99_ttft_s : float
        Seconds.
    end_waiting : float
        Requests without a first token at its end, in the mean.

    Examples
    --------
    >>> names = ("start_s", "length_s", "rate_rps", "load_frac", "goodput_frac", "mean_ttft_s", "p50_ttft_s")
    >>> Stretch(**dict.fromkeys(names, 1.0), p99_ttft_s=2.0, end_waiting=0.5).p99_ttft_s
    2.0
    """

    start_s: float
    length_s: float
    rate_rps: float
    load_frac: float
    goodput_frac: float
    mean_ttft_s: float
    p50_ttft_s: float
    p99_ttft_s: float
    end_waiting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """A time in which more comes than is served, and what it leaves behind.

    Parameters
    ----------
    start_s, end_s : float
        When the rate goes above the stability limit, and below it again (or the time is over), seconds.
    peak_waiting : float
        Most requests without a first token, in the mean.
    peak_s : float
        When, seconds.
    cleared_s : float or None
        When what has gathered is gone, in half of the cases; None if not before the time is over.

    Examples
    --------
    >>> Overload(start_s=0.0, end_s=60.0, peak_waiting=90.0, peak_s=60.0, cleared_s=None).peak_waiting
    90.0
    """

    start_s: float
    end_s: float
    peak_waiting: float
    peak_s: float
    cleared_s: float | None


@dataclass(frozen=True, kw_only=True)
class OverTime:
    """A prediction over time.

    Parameters
    ----------
    scheduler, tier : str
        As in `Prediction`.
    kind : str
        How it was found.
    limit_rps : float
        Stability limit, requests per second.
    binds : str
        What stands in the way of a higher one.
    rate_rps, duration_s : float
        Mean rate, and how long requests come.
    goodput_frac : float
        Share of all requests that are good.
    mean_ttft_s, p50_ttft_s, p90_ttft_s, p99_ttft_s : float
        Of all requests, seconds.
    peak_waiting, peak_s : float
        Most requests without a first token, in the mean, and when.
    stretches : tuple of Stretch
    overloads : tuple of Overload
    warnings : tuple of str
        Where the question lies outside the range in which the models were checked.

    Examples
    --------
    >>> names = ("limit_rps", "rate_rps", "duration_s", "goodput_frac", "mean_ttft_s", "p50_ttft_s",
    ...     "p90_ttft_s", "p99_ttft_s", "peak_waiting", "peak_s")
    >>> words = {"scheduler": "fcfs", "tier": "closed", "kind": "steady", "binds": "slots"}
    >>> found = OverTime(**words, **dict.fromkeys(names, 1.0), stretches=(), overloads=())
    >>> found.row()["binds"], found.parts()
    ('slots', {'stretches': [], 'overloads': []})
    """

    scheduler: str
    tier: str
    kind: str
    limit_rps: float
    binds: str
    rate_rps: float
    duration_s: float
    goodput_frac: float
    mean_ttft_s: float
    p50_ttft_s: float
    p90_ttft_s: float
    p99_ttft_s: float
    peak_waiting: float
    peak_s: float
    stretches: tuple[Stretch, ...]
    overloads: tuple[Overload, ...]
    warnings: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Plain data of the whole time."""
        whole = asdict(self)
        return {name: value for name, value in whole.items() if name not in ("stretches", "overloads")}

    def parts(self) -> dict[str, list[dict[str, Any]]]:
        """Plain data of the stretches and overloads."""
        return {
            "stretches": [asdict(one) for one in self.stretches],
            "overloads": [asdict(one) for one in self.overloads],
        }
