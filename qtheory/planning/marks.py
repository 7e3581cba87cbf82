"""The marks of a scheduler's goodput curve, by theory."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._searched import searched
from .search import Search
from .theory import Theory, failing

__all__ = ["Knee", "marks"]

_STEP = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Where goodput falls, and how: the marks of one scheduler's curve.

    Parameters
    ----------
    scheduler : str
    answered_by : str
        ``theory, numeric``, ``theory, closed`` or ``simulation``.
    goodput_frac : float
        The share of all arrived requests that has to be good at the knee.
    knee_rps : float or None
        Largest rate at which it is, requests per second; None if it never is.
    knee_rps_low, knee_rps_high : float or None
        Between these it is: of a simulation its confidence interval, of a prediction what is known of its
        error; None where nothing is.
    predicted_rps : float or None
        What theory says of a knee that was simulated.
    fails : str or None
        The limit that most requests miss at the knee: ``TTFT``, ``TPOT`` or ``E2E``.
    binds : str or None
        What stands in the way of a higher stability limit.
    strict_rps : float or None
        Largest rate at which 99 % are good.
    half_rps : float or None
        Largest rate at which half are.
    peak_goodput_rps, peak_rate_rps : float or None
        Most good requests a second, and the rate at which there are so many.
    power_rps : float or None
        Kleinrock's power point: most requests a second for each second of mean response.
    limit_rps : float or None
        Rate at which the load is 1.
    cliff_width_frac : float or None
        From the rate of 99 % to that of 50 % good, as a share of the knee: how far it is from well to bad.
    cliff_slope : float or None
        Points of goodput lost for 1 % more rate, at the knee.
    n_requests : int
        Simulated for this answer.
    curve : tuple of (rate, goodput, low, high)
        For figures; the limits are None where there are none.
    notes : tuple of str
        What else is to be known.

    Examples
    --------
    >>> found = Knee(scheduler="fcfs", answered_by="simulation", goodput_frac=0.9, knee_rps=4.0)
    >>> found.row()["knee_rps"], found.known_frac
    (4.0, None)
    """

    scheduler: str
    answered_by: str
    goodput_frac: float
    knee_rps: float | None
    knee_rps_low: float | None = None
    knee_rps_high: float | None = None
    predicted_rps: float | None = None
    fails: str | None = None
    binds: str | None = None
    strict_rps: float | None = None
    half_rps: float | None = None
    peak_goodput_rps: float | None = None
    peak_rate_rps: float | None = None
    power_rps: float | None = None
    limit_rps: float | None = None
    cliff_width_frac: float | None = None
    cliff_slope: float | None = None
    n_requests: int = 0
    curve: tuple[tuple[float, float, float | None, float | None], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def known_frac(self) -> float | None:
        """Half of the interval of the knee, relative."""
        if not self.knee_rps or self.knee_rps_low is None or self.knee_rps_high is None:
            return None
        return (self.knee_rps_high - self.knee_rps_low) / 2 / self.knee_rps

    def row(self) -> dict[str, Any]:
        """The plain values, one key a field, without the curve."""
        row = asdict(self)
        del row["curve"]
        row["notes"] = list(self.notes)
        return row


def marks(theory: Theory, goodput_frac: float = 0.9) -> Knee:
    """The knee and the other marks of a tier's predictions.

    Parameters
    ----------
    theory : Theory
    goodput_frac : float
        In (0, 1).

    Raises
    ------
    ConfigError
        If the tier has no answer at any rate.
    ConvergenceError
        If it has none where the knee is.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> theory = Theory(
    ...     replica=replica_of(scenario), workload=workload_of(scenario), scheduler="fcfs", tier="closed")
    >>> found = marks(theory)
    >>> found.cliff_width_frac < 0.3, found.binds
    (True, 'slots')
    """
    search, found = searched(theory, goodput_frac)
    return _described(theory, search, goodput_frac, found)


def _described(theory: Theory, search: Search, level: float, found: float | None) -> Knee:
    peak_rate, peak = search.peak(most=0)
    strict, half = (search.crossing(share, most=0) for share in (0.99, 0.5))
    last = math.inf if theory.has_limit else 0.998 * float(search.grid()[-1])
    half = half if half is None or half < last else None  # else beyond what was looked at
    at = found if found is not None else min(search.known, default=0.5 * theory.limit_rps)
    point = _nearest(theory, search, at)
    slope = None
    if found is not None:
        low, high = search.between([found * (1 - _STEP), min(found * (1 + _STEP), 0.9999 * search.limit_rps)])
        slope = float(100 * (low - high) / (2 * _STEP) / 100)
    wide = None if strict is None or half is None or not found else (half - strict) / found
    notes = list(point.warnings)
    if theory.tier == "numeric" and search.known:
        asked = ", ".join(f"{rate:.4g}" for rate in search.known)
        notes.append(f"numeric at {asked} req/s; marks besides the knee: closed forms corrected by it")
    return Knee(
        scheduler=theory.scheduler,
        answered_by=f"theory, {theory.tier}",
        goodput_frac=level,
        knee_rps=found,
        fails=failing(point, theory.workload),
        binds=point.binds,
        strict_rps=strict,
        half_rps=half,
        peak_goodput_rps=peak if peak_rate < last else None,
        peak_rate_rps=peak_rate if peak_rate < last else None,
        power_rps=_power(theory),
        limit_rps=theory.limit_rps,
        cliff_width_frac=wide,
        cliff_slope=slope,
        curve=_drawn(search),
        notes=tuple(notes),
    )


def _nearest(theory: Theory, search: Search, rate_rps: float) -> Any:
    """The prediction closest to a rate among those at hand."""
    if not search.known:
        return theory.closed.at(rate_rps)
    return theory.at(min(search.known, key=lambda rate: abs(rate - rate_rps)))


def _power(theory: Theory) -> float | None:
    """Rate of the largest rate over mean response, from closed forms: that maximum is flat.

    None for a scheduler that sheds: the response of those it serves tells nothing of the others.
    """
    if not theory.has_limit:
        return None
    rates = np.array([point.rate_rps for point in theory.closed.curve])
    response = np.array([point.mean_e2e_s for point in theory.closed.curve])
    fine = np.linspace(rates[0], rates[-1], 2000)
    power = fine / np.exp(np.interp(fine, rates, np.log(response)))
    return float(fine[int(power.argmax())])


def _drawn(search: Search) -> tuple[tuple[float, float, None, None], ...]:
    every = search.grid()
    rates = np.unique(np.append(every[::6], every[-1]))
    return tuple(
        (float(rate), float(good), None, None)
        for rate, good in zip(rates, search.between(rates), strict=True)
    )
