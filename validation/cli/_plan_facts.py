"""A plan in facts: the fleet and what is known of it, and what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qtheory.planning.fleet_doubt import Doubt
from qtheory.planning.fleet_plan import FleetPlan, Option
from qtheory.planning.prices import Price
from qtheory.report import human

from ._plan_rows import Found
from ._plan_simulated import Verdict
from .heading import limits_text

__all__ = ["fleet_facts", "no_fleet", "question_facts"]

_CLOSE = 0.95


def no_fleet(plan: FleetPlan) -> str:
    """One sentence for a load that nothing carries.

    Parameters
    ----------
    plan : FleetPlan
    """
    n, n_refused = len(plan.options), sum(option.is_refused for option in plan.options)
    if n_refused == n:
        return f"No fleet: none of {n} candidates could be predicted; --tier sim simulates them."
    share = f"{100 * plan.need.goodput_frac:.4g} %"
    found = f"No fleet: none of {n - n_refused} candidates has {share} good requests."
    return found + (
        f" {n_refused} more could not be predicted; --tier sim simulates them." if n_refused else ""
    )


def fleet_facts(found: Found) -> dict[str, object]:
    """The cheapest fleet: what it is, costs and shows, and how certain that is; empty without one.

    Parameters
    ----------
    found : Found
    """
    plan, best = found.plan, found.plan.best
    if best is None or best.fleet is None:
        return {}
    fleet, one = best.fleet, best.candidate
    rate = plan.need.rate_rps
    share = rate / fleet.n_replicas
    good = plan.usd_per_million(best)
    lines: dict[str, object] = {
        "fleet": f"{fleet.n_replicas:,} x ({one.told})",
        "cost": f"${best.usd_per_hour:,.4g} an hour, ${good:.3g} per million good tokens"
        + (f" (${fleet.n_replicas * one.usd_per_hour:,.4g} an hour at the peak)" if plan.load.is_day else ""),
        "one replica": _replica_line(fleet, plan.need.goodput_frac),
        "load": f"{share:.4g} req/s a replica, {100 * share / fleet.knee_rps:.0f} % of the knee; headroom "
        + _headroom(best, rate),
        "binds": f"{fleet.curve.binds or 'nothing seen'}; {fleet.curve.fails or 'no limit'} is missed first",
        "shows": _shows(fleet.point),
        "certain": _certain(best, rate),
        "power": _power(plan, best),
    }
    if found.why_not_fixed:
        lines["all the time"] = f"not predicted: {found.why_not_fixed}"
    if found.verdict is not None:
        lines["simulated"] = _simulated(found.verdict)
    return lines


def _replica_line(fleet: Any, goodput_frac: float) -> str:
    least = "at least " if fleet.curve.is_least else ""
    word = "load 1 at" if fleet.curve.sheds else "stability limit"
    limit = "" if fleet.curve.limit_rps is None else f"; {word} {fleet.curve.limit_rps:.4g}"
    return (
        f"knee {least}{fleet.knee_rps:.4g} req/s ({100 * goodput_frac:.4g} % good){limit}; "
        f"by {fleet.curve.answered_by}"
    )


def _headroom(best: Option, rate: float) -> str:
    fleet = best.fleet
    if fleet is None:
        return ""
    text = f"{100 * fleet.headroom_frac(rate):.0f} %"
    if fleet.curve.limit_rps is not None and not fleet.curve.sheds:
        over = fleet.n_replicas * fleet.curve.limit_rps / rate - 1
        if over > fleet.headroom_frac(rate):
            text += f"; the queue grows without end from {100 * over:+.0f} % on"
    return text


def _shows(point: Mapping[str, Any]) -> str:
    words = [f"{100 * float(point['goodput_frac']):.1f} % good"]
    for name, word in (("p90_ttft_s", "TTFT"), ("p90_tpot_s", "TPOT"), ("p90_e2e_s", "E2E")):
        if point.get(name) is not None:
            words.append(f"{word} {human(name, point[name])}")
    return ", ".join(words) + " (90 in 100 requests are faster)"


def _certain(best: Option, rate: float) -> str:
    fleet = best.fleet
    if fleet is None:
        return ""
    doubt: Doubt = fleet.doubt
    prob = fleet.miss_prob(rate)
    odds = "under 0.1 %" if prob < 1e-3 else f"{100 * prob:.2g} %"
    bias = f"{-100 * doubt.bias_frac:+.1f} % on average, " if doubt.bias_frac else ""
    steps = (
        f"{100 * doubt.steps_frac:.0f} % for step times against measurements"
        if doubt.steps_frac
        else f"without the error of step times, of which none is measured for {best.candidate.hardware.name}"
    )
    return (
        f"probability of missing it {odds}: the true knee is off by {bias}"
        f"sd {100 * doubt.model_frac:.1f} % ({doubt.measured}); {steps}"
    )


def _power(plan: FleetPlan, best: Option) -> str:
    power = plan.power_w(best)
    good = plan.usd_per_million(best)
    if power is None or best.usd_per_hour is None or not good:
        return f"not known: no power limit of {best.candidate.hardware.name} is stated"
    share = best.usd_per_hour / (best.candidate.usd_per_hour * (best.fleet.n_replicas if best.fleet else 1))
    million_h = good / best.usd_per_hour  # hours for a million good tokens
    return (
        f"at most {power / 1000:.3g} kW (power limits of the accelerators alone), "
        f"{power * share * million_h / 1000:.3g} kWh per million good tokens"
    )


def _simulated(verdict: Verdict) -> str:
    share = f"{100 * verdict.goodput_frac:.1f} % good"
    inside = f"{100 * verdict.goodput_frac_low:.1f} to {100 * verdict.goodput_frac_high:.1f} at 95 %"
    behind = f"behind {verdict.router}" if verdict.n_replicas > 1 else "alone"
    return (
        f"{verdict.word}: {share} ({inside}), {verdict.n_replicas} {behind} at {verdict.rate_rps:.4g} req/s, "
        f"{verdict.n_requests:,} requests ({verdict.kind})"
    )


def question_facts(
    plan: FleetPlan, prices: Mapping[str, Price], unpriced: Sequence[str], model: str
) -> dict[str, object]:
    """What was asked for, the prices, and what was assumed.

    Parameters
    ----------
    plan : FleetPlan
    prices : mapping
        By accelerator.
    unpriced : sequence of str
        Presets that were left out for want of a price.
    model : str
    """
    need, workload = plan.need, plan.load.workload
    lengths = workload.lengths
    answered = [option for option in plan.options if option.is_answered]
    used = dict.fromkeys(option.candidate.hardware.name for option in answered or plan.options)
    wanted = f"{100 * need.goodput_frac:.4g} % of all requests with {limits_text(workload.slo)}"
    extra = [f"headroom {100 * need.headroom_frac:.4g} %"] if need.headroom_frac else []
    extra += [f"{need.spare} spare"] if need.spare else []
    extra += [f"P(miss) at most {100 * need.miss_prob:.3g} %"] if need.miss_prob < 1 else []
    tokens = f"{lengths.mean_prompt_tokens:,.0f} + {lengths.mean_output_tokens:,.0f} tokens"
    highest = f" at its highest, {plan.load.mean_rps:.4g} in the mean" if plan.load.is_day else ""
    lines: dict[str, object] = {
        "model": model,
        "load": f"{workload.name}, {need.rate_rps:.4g} req/s{highest}, {workload.arrivals}; {tokens}",
        "good": "; ".join([wanted, *extra]),
        "prices": ", ".join(f"{name} {prices[name].told}" for name in used),
    }
    if plan.load.note:
        lines["arrivals"] = plan.load.note
    lines["assumed"] = "requests are dealt out at random; taking turns, or looking, does better (--verify)"
    notes = _notes(plan)
    if notes:
        lines["but"] = "; ".join(notes)
    if unpriced:
        lines["not tried"] = f"{len(unpriced)} presets without a price (--price h200=USD adds one)"
    return lines


def _notes(plan: FleetPlan) -> list[str]:
    """Where the answer lies outside the range in which the models were checked."""
    best = plan.best
    if best is None or best.fleet is None:
        return []
    notes = list(best.fleet.curve.notes)
    limit, share = best.fleet.curve.limit_rps, plan.need.rate_rps / best.fleet.n_replicas
    if limit is not None and share > _CLOSE * limit:
        if best.fleet.curve.sheds:
            notes.append(
                f"each replica has a load of {share / limit:.2f}; what it cannot serve in time is shed"
            )
        else:
            notes.append(f"each replica is within {100 * (1 - share / limit):.1f} % of its stability limit")
    return notes
