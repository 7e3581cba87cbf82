"""A plan in words: the fleet in the first lines, then what else there is to know, then the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from qtheory.planning.fleet_doubt import Doubt
from qtheory.planning.fleet_plan import FleetPlan, Option
from qtheory.planning.prices import Price
from qtheory.report import human, pairs, table

from ._plan_rows import Found, day_rows, front_rows, option_rows
from ._plan_simulated import Verdict
from .heading import limits_text

__all__ = ["plan_text"]

_ROWS, _LOST = 8, 8
_CLOSE = 0.95
_LABELS = {
    "usd_per_hour": "$/h",
    "usd_per_million_good_tokens": "$/M good",
    "n_replicas": "replicas",
    "of_knee_frac": "of knee (%)",
    "knee_rps": "knee (req/s)",
    "miss_prob": "P(miss)",
    "start_s": "from (h)",
    "mean_rps": "mean (req/s)",
    "peak_rps": "highest (req/s)",
    "cost_usd": "cost ($)",
    "knee_change_frac": "knee (%)",
    "n_left": "left",
    "is_enough": "enough",
    "n_for_it": "to bear it",
    "goodput_frac": "good (%)",
    "answered_by": "by",
}


def plan_text(found: Found, prices: Mapping[str, Price], unpriced: Sequence[str], model: str) -> str:
    """The whole answer, for people."""
    plan = found.plan
    blocks = [_first_lines(found), _question(plan, prices, unpriced, model)]
    if plan.best is not None:
        blocks += [_away(found), _sensitive(found)]
        blocks += [_day(found)] if found.hours else []
        blocks += [_others(found), _front(found)]
    blocks.append(_lost(plan))
    return "\n\n".join(block for block in blocks if block)


def _first_lines(found: Found) -> str:
    plan, best = found.plan, found.plan.best
    if best is None or best.fleet is None:
        n = len(plan.options)
        return f"No fleet: none of {n} candidates has {100 * plan.need.goodput_frac:.4g} % good requests."
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
    if found.verdict is not None:
        lines["simulated"] = _simulated(found.verdict)
    return pairs(lines)


def _replica_line(fleet: Any, goodput_frac: float) -> str:
    least = "at least " if fleet.curve.is_least else ""
    limit = "" if fleet.curve.limit_rps is None else f"; stability limit {fleet.curve.limit_rps:.4g}"
    return (
        f"knee {least}{fleet.knee_rps:.4g} req/s ({100 * goodput_frac:.4g} % good){limit}; "
        f"by {fleet.curve.answered_by}"
    )


def _headroom(best: Option, rate: float) -> str:
    fleet = best.fleet
    if fleet is None:
        return ""
    text = f"{100 * fleet.headroom_frac(rate):.0f} %"
    if fleet.curve.limit_rps is not None:
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


def _question(plan: FleetPlan, prices: Mapping[str, Price], unpriced: Sequence[str], model: str) -> str:
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
    return pairs(lines)


def _notes(plan: FleetPlan) -> list[str]:
    """Where the answer lies outside the range in which the models were checked."""
    best = plan.best
    if best is None or best.fleet is None:
        return []
    notes = list(best.fleet.curve.notes)
    limit, share = best.fleet.curve.limit_rps, plan.need.rate_rps / best.fleet.n_replicas
    if limit is not None and share > _CLOSE * limit:
        notes.append(f"each replica is within {100 * (1 - share / limit):.1f} % of its stability limit")
    return notes


def _away(found: Found) -> str:
    rows = [asdict(one) | {"is_enough": _yes(one.is_enough)} for one in found.away]
    return f"With replicas away, at the full rate\n{table(rows, labels=_LABELS | {'what': 'if'})}"


def _yes(is_enough: bool | None) -> str:
    return "not predicted" if is_enough is None else "yes" if is_enough else "no"


def _sensitive(found: Found) -> str:
    best = found.plan.best
    if best is None:
        return ""
    rows = []
    for one in found.worse:
        cost = None if one.n_replicas is None else one.n_replicas * best.candidate.usd_per_hour
        rows.append(asdict(one) | {"usd_per_hour": cost})
    labels = _LABELS | {"what": "if"} | ({"usd_per_hour": "$/h at the peak"} if found.hours else {})
    text = f"If an input is a tenth worse (closed forms)\n{table(rows, labels=labels)}"
    switch = _switch(found)
    return f"{text}\n{switch}" if switch else text


def _switch(found: Found) -> str:
    """How much dearer the accelerator may become before another fleet is cheaper."""
    plan, best = found.plan, found.plan.best
    if best is None or not best.usd_per_hour:
        return ""
    name = best.candidate.hardware.name
    other = next(
        (o for o in plan.options if o.is_answered and o.candidate.hardware.name != name and o.usd_per_hour),
        None,
    )
    if other is None or other.usd_per_hour is None:
        return ""
    price = best.candidate.price.usd_per_hour * other.usd_per_hour / best.usd_per_hour
    return f"Up to ${price:.3g} for {name} it stays the cheapest; beyond it is {other.candidate.told}."


def _day(found: Found) -> str:
    rows = [row | {"start_s": row["start_s"] / 3600} for row in day_rows(found)]
    cost, hours = (
        sum(hour.usd for hour in found.hours),
        sum(hour.stage.length_s for hour in found.hours) / 3600,
    )
    best = found.plan.best
    peak = best.fleet.n_replicas * best.candidate.usd_per_hour * hours if best and best.fleet else 0.0
    columns = ("start_s", "mean_rps", "peak_rps", "n_replicas", "cost_usd")
    saved = f"{100 * (1 - cost / peak):.0f} % less than" if cost < peak else "as much as"
    return (
        f"Hour by hour\n{table(rows, columns, labels=_LABELS)}\n"
        f"${cost:,.4g} in {hours:.4g} h, {saved} the ${peak:,.4g} of the full fleet all the time"
    )


def _others(found: Found) -> str:
    rows = [row for row in option_rows(found) if row["rank"] is not None][1:]
    columns = (
        "hardware", "tp", "weights", "scheduler", "budget_tokens", "n_replicas", "usd_per_hour",
        "usd_per_million_good_tokens", "knee_rps", "of_knee_frac", "p90_ttft_s", "p90_tpot_s", "miss_prob",
        "answered_by", "why",
    )  # fmt: skip
    if not rows:
        return ""
    for row in rows:
        row["answered_by"] = str(row["answered_by"]).rpartition(", ")[2]
        row["miss_prob"] = round(row["miss_prob"], 3)
    left = f"\nand {len(rows) - _ROWS} more (--format csv has all)" if len(rows) > _ROWS else ""
    return f"Next best\n{table(rows[:_ROWS], columns, labels=_LABELS)}{left}"


def _front(found: Found) -> str:
    rows = front_rows(found)
    title = "No fleet is cheaper and faster than these, at the highest rate"
    return f"{title}\n{table(rows, ('fleet', 'usd_per_hour', found.latency), labels=_LABELS)}" if rows else ""


def _lost(plan: FleetPlan) -> str:
    """Why candidates have no fleet, one line a reason."""
    reasons: dict[str, list[str]] = {}
    for option in plan.options:
        if option.fleet is None:
            kind = option.reason.partition(":")[0] if option.reason.startswith("too dear") else option.reason
            reasons.setdefault(kind, []).append(option.candidate.told)
    lines = []
    for reason, names in list(reasons.items())[:_LOST]:
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        why = "more than four times the cost, even at the stability limit" if reason == "too dear" else reason
        lines.append(f"  {'; '.join(names[:2])}{more}: {why}")
    if len(reasons) > _LOST:
        lines.append(f"  and {len(reasons) - _LOST} more reasons (--format csv has all)")
    return "\n".join(["No fleet of", *lines]) if lines else ""
