"""One replica as a function of its rate, by a tier of the theory: its knee, and what it shows at a rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.predict import MODELLED_SCHEDULERS, REJECTED_NOTE, Prediction
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

from ._searched import KNEE_POINTS, KNEE_RTOL, searched
from .search import Search
from .theory import Theory, failing

__all__ = ["LATENCIES", "Curve", "theory_curve"]

LATENCIES = tuple(
    f"{head}_{what}_s" for what in ("ttft", "tpot", "e2e") for head in ("mean", "p50", "p90", "p95", "p99")
)
"""What a curve says besides goodput."""
_EDGE = 0.998
_DOWN = (1.0, 0.97, 0.94, 0.9)  # of the rate at which the numeric tier is asked, until it answers
_CLOSE, _MORE = 0.05, 1  # relative error of a numeric knee, and how often the tier is asked once more


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Goodput and latency of one replica as functions of the rate.

    Parameters
    ----------
    answered_by : str
        ``theory, closed``, ``theory, numeric`` or ``simulation``.
    knee_rps : float or None
        Largest rate at which enough requests are good; None if there is none.
    is_least : bool
        Whether the knee may be higher: the model ends there.
    limit_rps : float or None
        Stability limit; None if it is not known.
    binds, fails : str or None
        What binds at the limit, and which limit on latency most requests miss at the knee.
    at : callable (float) -> mapping
        ``goodput_frac`` and `LATENCIES` at a rate; raises where there is no answer.
    sheds : bool
        Whether there is a steady state above that limit too: what is too much is shed.
    notes : tuple of str
        Where the question lies outside the range of the models.

    Examples
    --------
    >>> Curve(answered_by="simulation", knee_rps=4.0, at=lambda rate: {"goodput_frac": 0.9}).at(4.0)
    {'goodput_frac': 0.9}
    """

    answered_by: str
    knee_rps: float | None
    is_least: bool = False
    limit_rps: float | None = None
    binds: str | None = None
    fails: str | None = None
    at: Callable[[float], Mapping[str, Any]]
    sheds: bool = False
    notes: tuple[str, ...] = ()


def theory_curve(
    replica: ReplicaSpec,
    workload: Workload,
    *,
    goodput_frac: float,
    tier: str,
    near_rps: float | None = None,
) -> Curve:
    """A replica by theory.

    The closed tier is computed at 38 loads at once and where its knee seems to be, and in between
    interpolated; both tiers have the knee of `qtheory.planning.knee`. Where the numeric one has no answer
    there, it is asked at ``near_rps`` and once more near the knee that follows, and corrects the closed curve
    by what it says, as `Search` does.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
        What comes to it; its rate does not matter.
    goodput_frac : float
        Share of all requests that has to be good, in (0, 1).
    tier : str
        ``closed`` or ``numeric``.
    near_rps : float, optional
        Where the numeric tier is asked if it ends before its knee (default: at the knee of the closed one).

    Raises
    ------
    ConfigError
        If there is no model of this scheduler or load.
    ConvergenceError
        If the tier has no answer there.

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> found = theory_curve(replica_of(scenario), workload_of(scenario), goodput_frac=0.9, tier="closed")
    >>> found.knee_rps < found.limit_rps, found.at(4.0)["goodput_frac"] > 0.99
    (True, True)
    """
    _check_modelled(replica, workload)
    both = _Tiers(replica, workload, goodput_frac)
    return both.closed_curve() if tier == "closed" else both.numeric_curve(near_rps)


def _check_modelled(replica: ReplicaSpec, workload: Workload) -> None:
    """Refuse what the predictions would pass over."""
    name = replica.scheduler.name
    if name not in MODELLED_SCHEDULERS:
        raise ConfigError(f"scheduler: there is no model of {name}; simulate it")
    if workload.structure.conversations is not None:
        raise ConfigError("conversations: there is no model of turns that build on one another; simulate it")
    if any(one.ttft_slo_s is not None or one.tpot_slo_s is not None for one in workload.structure.tenants):
        raise ConfigError("tenants: there is no model of limits of their own; simulate it")


class _Tiers:
    """Both tiers for one replica."""

    def __init__(self, replica: ReplicaSpec, workload: Workload, goodput_frac: float) -> None:
        self._workload, self._level = workload, goodput_frac
        name = replica.scheduler.name
        self._theory = Theory(replica=replica, workload=workload, scheduler=name, tier="numeric")
        self._closed = self._theory.closed

    @cached_property
    def _points(self) -> list[Prediction]:
        points = self._closed.curve
        if not points:
            self._closed.at(0.5 * self._closed.limit_rps)  # says why
            raise ConfigError(
                f"scheduler: {self._closed.scheduler} has no prediction at any rate; simulate it"
            )
        rejected = next((text for text in points[0].warnings if REJECTED_NOTE in text), None)
        if rejected is not None:
            raise ConfigError(rejected.replace(REJECTED_NOTE, "would be rejected"))
        return points

    def _search(self, ask: Callable[[float], float]) -> Search:
        rates = [point.rate_rps for point in self._points]
        good = [point.goodput_frac for point in self._points]
        limit = self._closed.limit_rps if self._closed.has_limit else math.inf
        return Search(ask, guide=(rates, good), limit_rps=limit)

    def _ends_early(self, knee: float | None) -> bool:
        """Whether a knee is only where the model ends."""
        last, limit = self._points[-1].rate_rps, self._closed.limit_rps
        return (
            knee is not None and knee >= _EDGE * last and not (self._closed.has_limit and last > 0.99 * limit)
        )

    def closed_curve(self) -> Curve:
        search = self._search(self._closed.good)
        with suppress(ConvergenceError):  # else what is known must do
            search.crossing(self._level, rtol=KNEE_RTOL, most=KNEE_POINTS["closed"])
        asked = {point.rate_rps: point for point in self._points}
        asked |= {rate: self._closed.at(rate) for rate in search.known if rate not in asked}
        return self._curve(search, "closed", partial(self._between, [asked[rate] for rate in sorted(asked)]))

    def numeric_curve(self, near_rps: float | None) -> Curve:
        points = self._points
        try:
            search, _ = searched(self._theory, self._level)
        except ConvergenceError:
            return self._ending_early(near_rps)
        if not search.n_asked:
            self._theory.at(points[0].rate_rps)  # says why
        return self._curve(search, "numeric", self._row_numeric)

    def _ending_early(self, near_rps: float | None) -> Curve:
        """Where the tier has no answer at its knee: asked near a rate, or below."""
        search = self._search(self._theory.good)
        lowest = self._points[0].rate_rps
        near = max(near_rps or search.crossing(self._level, most=0) or lowest, lowest)
        if all(search.at(max(share * near, lowest)) is None for share in _DOWN):
            self._theory.at(near)  # says why
        search.crossing(self._level, rtol=_CLOSE, most=_MORE)
        return self._curve(search, "numeric", self._row_numeric)

    def _curve(self, search: Search, tier: str, at: Callable[[float], Mapping[str, Any]]) -> Curve:
        knee = search.crossing(self._level, most=0)
        nearest = min(self._points, key=lambda point: abs(point.rate_rps - (knee or 0.0)))
        early = self._ends_early(knee)
        return Curve(
            answered_by=f"theory, {tier}",
            knee_rps=knee,
            is_least=early,
            limit_rps=self._closed.limit_rps,
            binds=nearest.binds,
            fails=failing(nearest, self._workload),
            at=at,
            sheds=not self._closed.has_limit,
            notes=tuple(text for text in nearest.warnings if not text.startswith("load ")),
        )

    def _row_numeric(self, rate_rps: float) -> Mapping[str, Any]:
        row = self._theory.at(rate_rps).row()
        names = ("goodput_frac", *LATENCIES)
        return {name: None if row[name] is None else float(row[name]) for name in names}

    def _between(self, points: Sequence[Prediction], rate_rps: float) -> Mapping[str, Any]:
        """Closed values at a rate between those at hand; raises beyond them."""
        limit = self._closed.limit_rps
        rates = np.array([point.rate_rps for point in points])
        if rate_rps > rates[-1]:
            raise ConvergenceError(
                f"rate_rps={rate_rps:.4g}: beyond {rates[-1]:.4g} req/s, the last rate with a prediction "
                f"(limit {limit:.4g})"
            )
        found: dict[str, float | None] = {}
        for name in ("goodput_frac", *LATENCIES):
            values = [getattr(point, name) for point in points]
            if any(value is None for value in values):
                found[name] = None
                continue
            heights = np.array(values) if name == "goodput_frac" else np.log(values)
            height = float(np.interp(rate_rps, rates, heights))
            found[name] = height if name == "goodput_frac" else math.exp(height)
        return found
