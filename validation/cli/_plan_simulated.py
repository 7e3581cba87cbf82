"""Fleets in the simulator: the curve of one replica, and the chosen fleet behind its router."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from qtheory.basics.errors import ServingError
from qtheory.planning.doubling import find_knee
from qtheory.planning.fleet_candidates import Candidate
from qtheory.planning.fleet_curve import LATENCIES, Curve, theory_curve
from qtheory.planning.search import Search
from qtheory.system.cluster import BLIND_ROUTERS, parse_router
from qtheory.system.results import RunResult
from qtheory.system.slo import Slo
from qtheory.system.workload import Workload
from validation.answer import NothingKept, Study, Workers
from validation.answer.point import build
from validation.answer.work import simulate_points

__all__ = ["Simulator", "Verdict", "verdict_of"]

_RUNS = 5
_REQUESTS, _MOST_REQUESTS, _LEAST_EACH = 5000, 30_000, 500
_KNEE_RTOL, _KNEE_POINTS = 0.02, 5
_WAITS = {
    "waits_for_slots_frac": "slots",
    "waits_for_budget_frac": "token budget",
    "waits_for_memory_frac": "KV memory",
}


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """Simulates replicas, alone and together.

    Parameters
    ----------
    workers : Workers
    goodput_frac : float
        Share that must be good.
    """

    workers: Workers
    goodput_frac: float
    _seen: dict[tuple[Any, ...], RunResult] = field(default_factory=dict)

    def run(
        self,
        candidate: Candidate,
        workload: Workload,
        rate_rps: float,
        *,
        n_replicas: int = 1,
        router: Mapping[str, Any] | None = None,
    ) -> RunResult:
        """Five runs to a steady state at a rate."""
        n = _requests(n_replicas, router or {})
        key = (candidate.told, str(workload.arrivals), rate_rps, n_replicas)
        if key not in self._seen:
            scenario = replace(
                candidate.scenario,
                rate_rps=rate_rps,
                requests=n,
                duration_s=None,
                stop_s=None,
                trace=None,
                speed=1.0,
                ticks="recorded",
                arrivals="poisson",
                replicas=n_replicas,
                **(router or {}),
            )
            study = Study(steady=True, n_replications=_RUNS)
            point = build(scenario, study)
            load = replace(workload, rate_rps=rate_rps, n_requests=n, duration_s=None, trace=None)
            executor = self.workers if self.workers.jobs > 1 else None
            runs = simulate_points(
                [replace(point, workload=load)], study, executor=executor, progress=None, kept=NothingKept()
            )
            self._seen[key] = runs[0].result
        return self._seen[key]

    def curve(self, candidate: Candidate, workload: Workload, near_rps: float | None) -> Curve:
        """One replica by simulation; the closed forms, if they answer, say where to look."""

        def good(rate_rps: float) -> float:
            return self.run(candidate, workload, rate_rps).goodput_frac

        knee = self._guided(candidate, workload, good)
        if knee is None:
            start = near_rps or workload.offered_rps
            knee = find_knee(good, goodput_frac=self.goodput_frac, start_rps=start, rtol=_KNEE_RTOL)
        at_knee = self.run(candidate, workload, knee or workload.offered_rps)

        def at(rate_rps: float) -> Mapping[str, Any]:
            found = self.run(candidate, workload, rate_rps)
            return {name: getattr(found, name) for name in ("goodput_frac", *LATENCIES)}

        return Curve(
            answered_by="simulation",
            knee_rps=knee,
            binds=_binds(at_knee),
            fails=_fails(at_knee, workload.slo),
            at=at,
        )

    def _guided(self, candidate: Candidate, workload: Workload, good: Any) -> float | None:
        """Knee with the closed curve as a guide; None where there is no such curve."""
        if candidate.replica is None:
            return None
        try:
            closed = theory_curve(candidate.replica, workload, goodput_frac=self.goodput_frac, tier="closed")
            if closed.knee_rps is None or closed.is_least:
                return None
            rates = [share * closed.knee_rps for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)]
            limit = closed.limit_rps or 2 * closed.knee_rps
            rates += [rate for rate in (closed.knee_rps, 1.02 * closed.knee_rps) if rate < 0.999 * limit]
            heights = [float(closed.at(rate)["goodput_frac"]) for rate in rates]
            return Search(good, guide=(rates, heights)).crossing(
                self.goodput_frac, rtol=_KNEE_RTOL, most=_KNEE_POINTS
            )
        except ServingError:
            return None


def _requests(n_replicas: int, router: Mapping[str, Any]) -> int:
    """Requests of a run: fewer behind a router that looks, since that is simulated step by step."""
    if n_replicas == 1:
        return _REQUESTS
    blind = parse_router(router.get("router", BLIND_ROUTERS[0])).name in BLIND_ROUTERS
    return max(min(_REQUESTS * n_replicas, _MOST_REQUESTS), _LEAST_EACH * n_replicas) if blind else _REQUESTS


def _binds(found: RunResult) -> str | None:
    waits = {word: getattr(found, name) or 0.0 for name, word in _WAITS.items()}
    most = max(waits, key=waits.__getitem__)
    return most if waits[most] > 0 else None


def _fails(found: RunResult, slo: Slo) -> str | None:
    """The limit whose 90th percentile is largest against it."""
    limits = {"TTFT": (found.p90_ttft_s, slo.ttft_s), "TPOT": (found.p90_tpot_s, slo.tpot_s)}
    limits["E2E"] = (found.p90_e2e_s, slo.e2e_s)
    parts = {word: value / limit for word, (value, limit) in limits.items() if value and limit}
    return max(parts, key=parts.__getitem__) if parts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the simulation of a fleet showed.

    Parameters
    ----------
    n_replicas : int
    router : str
    rate_rps : float
    word : str
        ``holds``, ``fails`` or ``undecided``: the share that must be good against its interval.
    goodput_frac, goodput_frac_low, goodput_frac_high : float
        Share of good requests, and its confidence interval at 95 %.
    p90_ttft_s, p90_tpot_s, p90_e2e_s : float or None
    n_requests : int
    kind : str
        How far the numbers reach.
    """

    n_replicas: int
    router: str
    rate_rps: float
    word: str
    goodput_frac: float
    goodput_frac_low: float
    goodput_frac_high: float
    p90_ttft_s: float | None
    p90_tpot_s: float | None
    p90_e2e_s: float | None
    n_requests: int
    kind: str


def verdict_of(
    simulator: Simulator,
    candidate: Candidate,
    workload: Workload,
    *,
    n_replicas: int,
    router: str,
    load_delay_s: float = 0.0,
) -> Verdict:
    """Simulate a fleet behind its router at the rate of a workload."""
    given: dict[str, Any] = {"router": router, "load_delay_s": load_delay_s} if n_replicas > 1 else {}
    rate = workload.offered_rps
    found = simulator.run(candidate, workload, rate, n_replicas=n_replicas, router=given)
    low, high = found.limits.get("goodput_frac", (found.goodput_frac, found.goodput_frac))
    wanted = simulator.goodput_frac
    word = "holds" if low >= wanted else "fails" if high < wanted else "undecided"
    if word == "holds" and found.kind.startswith("overloaded"):
        word = "fails"  # in the end: the queue grows
    return Verdict(
        n_replicas=n_replicas,
        router=router if n_replicas > 1 else "none",
        rate_rps=rate,
        word=word,
        goodput_frac=found.goodput_frac,
        goodput_frac_low=low,
        goodput_frac_high=high,
        p90_ttft_s=found.p90_ttft_s,
        p90_tpot_s=found.p90_tpot_s,
        p90_e2e_s=found.p90_e2e_s,
        n_requests=found.n_requests,
        kind=found.kind,
    )
