"""A plan as plain rows, for programs and for tables alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.planning.fleet_day import FixedFleet, StageMet, fixed_fleets
from qtheory.planning.fleet_front import FrontPoint, front_of, points_of
from qtheory.planning.fleet_moves import Away, Worse, away, worse_inputs
from qtheory.planning.fleet_plan import FleetPlan, Hour, Option, hours_of

from ._plan_simulated import Verdict

__all__ = ["Found", "day_rows", "fixed_rows", "found_of", "front_rows", "option_rows"]

_SHOWN = ("p90_ttft_s", "p99_ttft_s", "p90_tpot_s", "p99_tpot_s", "p90_e2e_s", "p99_e2e_s")


@dataclass(frozen=True, kw_only=True)
class Found:
    """Everything that a plan has to say."""

    plan: FleetPlan
    latency: str
    points: Sequence[FrontPoint] = ()
    front: Sequence[FrontPoint] = ()
    hours: Sequence[Hour] = ()
    fixed: Sequence[FixedFleet] = ()
    why_not_fixed: str = ""  # of a load that changes
    away: Sequence[Away] = ()
    worse: Sequence[Worse] = ()
    verdict: Verdict | None = None


def found_of(plan: FleetPlan, latency: str, verdict: Verdict | None = None) -> Found:
    """A plan with what follows from it for its cheapest fleet."""
    points = points_of(plan, latency)
    best = plan.best
    if best is None or best.fleet is None:
        return Found(plan=plan, latency=latency)
    fixed, why_not = _fixed(plan, best) if plan.load.is_day else ((), "")
    return Found(
        plan=plan,
        latency=latency,
        points=points,
        front=front_of(points),
        hours=hours_of(best.candidate, best.fleet, plan.load, plan.need) if plan.load.is_day else (),
        fixed=fixed,
        why_not_fixed=why_not,
        away=away(best.fleet, plan.need),
        worse=worse_inputs(best.candidate, best.fleet, plan.load, plan.need),
        verdict=verdict,
    )


def _fixed(plan: FleetPlan, best: Option) -> tuple[tuple[FixedFleet, ...], str]:
    """The full fleet through all of a load that changes, and smaller ones; or none, and why."""
    fleet, replica = best.fleet, best.candidate.replica
    if fleet is None or replica is None or not fleet.curve.answered_by.startswith("theory"):
        return (), "the fleet is answered by simulation"
    try:
        return fixed_fleets(replica, plan.load, fleet.n_replicas, goodput_frac=plan.need.goodput_frac), ""
    except (ConfigError, ConvergenceError, UnstableError) as error:
        return (), str(error)


def option_rows(found: Found) -> list[dict[str, Any]]:
    """A row a candidate, cheapest first; what is not known is None."""
    on_front = {id(point.option) for point in found.front}
    rows = []
    for place, option in enumerate(found.plan.options, start=1):
        one = option.candidate
        rows.append(
            {
                "rank": place if option.is_answered else None,
                "hardware": one.hardware.name,
                "tp": one.tp,
                "weights": one.weights,
                "scheduler": one.scenario.scheduler,
                "budget_tokens": one.replica.budget_tokens if one.replica else one.scenario.budget_tokens,
                **_fleet_row(found.plan, option),
                "on_front": id(option) in on_front,
                "why": _why(found.plan, option),
            }
        )
    return rows


def _fleet_row(plan: FleetPlan, option: Option) -> dict[str, Any]:
    fleet, rate = option.fleet, plan.need.rate_rps
    if fleet is None:
        return {"n_replicas": None, "n_accelerators": None, "usd_per_hour": None}
    share = rate / fleet.n_replicas
    power = plan.power_w(option)
    return {
        "n_replicas": fleet.n_replicas,
        "n_accelerators": fleet.n_replicas * option.candidate.n_accelerators,
        "usd_per_hour": option.usd_per_hour,
        "usd_per_million_good_tokens": plan.usd_per_million(option),
        "knee_rps": fleet.knee_rps,
        "knee_is_least": fleet.curve.is_least,
        "limit_rps": fleet.curve.limit_rps,
        "replica_rps": share,
        "of_knee_frac": share / fleet.knee_rps,
        "headroom_frac": fleet.headroom_frac(rate),
        "binds": fleet.curve.binds,
        "fails": fleet.curve.fails,
        "goodput_frac": fleet.point["goodput_frac"],
        **{name: fleet.point.get(name) for name in _SHOWN},
        "miss_prob": fleet.miss_prob(rate),
        "knee_error_frac": fleet.doubt.total_frac,
        "most_power_w": power,
        "answered_by": fleet.curve.answered_by,
    }


def _why(plan: FleetPlan, option: Option) -> str:
    """Why a candidate is not the first."""
    best = plan.best
    if option.fleet is None:
        return option.reason
    if best is option or best is None or not best.usd_per_hour or option.usd_per_hour is None:
        return "cheapest"
    more = option.usd_per_hour / best.usd_per_hour - 1
    if more < 5e-4:
        return "costs the same, with less headroom"
    return f"costs {100 * more:.0f} % more" if more >= 0.01 else f"costs {100 * more:.1f} % more"


def front_rows(found: Found) -> list[dict[str, Any]]:
    """The front of cost against latency."""
    return [
        {
            "fleet": f"{point.n_replicas} x ({point.option.candidate.told})",
            "n_replicas": point.n_replicas,
            "usd_per_hour": point.usd_per_hour,
            found.latency: point.latency_s,
        }
        for point in found.front
    ]


def day_rows(found: Found) -> list[dict[str, Any]]:
    """The stages of a day: what each needs, and what it meets with one replica fewer all the time."""
    rows = [
        {**asdict(hour.stage), "n_replicas": hour.n_replicas, "cost_usd": hour.usd} for hour in found.hours
    ]
    if len(found.fixed) < 2:
        return rows
    met = {round(one.start_s, 3): one for one in found.fixed[1].stages}
    return [row | _one_fewer(met.get(round(row["start_s"], 3))) for row in rows]


def _one_fewer(met: StageMet | None) -> dict[str, Any]:
    return {
        "one_fewer_goodput_frac": None if met is None else met.goodput_frac,
        "one_fewer_waiting": None if met is None else met.end_waiting,
    }


def fixed_rows(found: Found) -> list[dict[str, Any]]:
    """A row a fleet that stays as it is."""
    best = found.plan.best
    each = best.candidate.usd_per_hour if best is not None else 0.0
    return [
        {
            "n_replicas": one.n_replicas,
            "usd_per_hour": one.n_replicas * each,
            "goodput_frac": one.goodput_frac,
            "n_missed": one.n_missed,
            "peak_waiting": one.peak_waiting,
            "overloaded_s": one.overloaded_s,
            "late_s": one.late_s,
        }
        for one in found.fixed
    ]
