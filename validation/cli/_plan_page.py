"""The page of `sched-sim plan --report`: the fleet, how certain it is, what it hangs on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ServingError
from qtheory.planning.fleet_plan import FleetPlan, Option
from qtheory.planning.prices import Price
from qtheory.report import Page, Section
from qtheory.system.provenance import Provenance
from qtheory.system.scenario import Scenario

from ._knee_page import sums
from ._plan_facts import fleet_facts, no_fleet, question_facts
from ._plan_plot import draw_front
from ._plan_rows import Found
from ._plan_tables import PlanTable, lost_lines, plan_tables
from ._words import command_line
from .heading import limits_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qtheory.planning.fleet_size import Fleet

__all__ = ["picture", "plan_page"]


def picture(found: Found, model: str) -> Figure:
    """Cost against latency, under a title that says what was asked.

    Parameters
    ----------
    found : Found
    model : str

    Raises
    ------
    ConfigError
        If there is no fleet to draw.
    """
    good = limits_text(found.plan.load.workload.slo).replace("<=", "\u2264")
    share = 100 * found.plan.need.goodput_frac
    title = f"{_question(found.plan, model)}\n{share:.4g} % of the requests: {good}"
    return draw_front(found, title=title)


def plan_page(
    found: Found,
    prices: Mapping[str, Price],
    unpriced: Sequence[str],
    scenario: Scenario,
    *,
    inputs: Mapping[str, str],
) -> Page:
    """The page, which says no number that the text and the formulas do not say.

    Parameters
    ----------
    found : Found
    prices : mapping
        By accelerator.
    unpriced : sequence of str
        Presets that were left out for want of a price.
    scenario : Scenario
        As it was asked.
    inputs : mapping
        Fingerprints of the files that were read.
    """
    plan, model = found.plan, str(scenario.model)
    facts, lost = fleet_facts(found), lost_lines(plan)
    sections = [
        *_pictures(found, model),
        *([Section(title="The fleet", facts=facts)] if facts else []),
        Section(title="What was asked and assumed", facts=question_facts(plan, prices, unpriced, model)),
        *_formulas(plan),
        *(_table(one) for one in plan_tables(found, is_wide=True)),
        *([Section(title="No fleet of", text=lost)] if lost else []),
    ]
    return Page(
        title=f"The cheapest fleet: {_question(plan, model)}",
        answer=_answer(found, facts),
        sections=sections,
        command=command_line(),
        provenance=Provenance(scenario=scenario.changed(), seed=scenario.seed),
        inputs={
            **{f"price of {name}": _price(price) for name, price in prices.items()},
            **inputs,
        },
    )


def _question(plan: FleetPlan, model: str) -> str:
    return f"{model}, {plan.load.workload.name} at {plan.need.rate_rps:.4g} req/s"


def _price(price: Price) -> str:
    return f"${price.usd_per_hour:g} an hour, {price.source or price.basis}"


def _answer(found: Found, facts: Mapping[str, object]) -> list[str]:
    if not facts:
        return [no_fleet(found.plan)]
    lines = [f"{facts['fleet']}: {facts['cost']}.", f"Certainty: {facts['certain']}."]
    if "simulated" in facts:
        lines.append(f"Simulated: {facts['simulated']}.")
    return [*lines, f"Load: {facts['load']}.", f"What binds: {facts['binds']}."]


def _pictures(found: Found, model: str) -> list[Section]:
    if not found.points:
        return []
    caption = "A mark a fleet; no fleet is cheaper and faster than those on the dashed line."
    return [Section(title="Cost against latency", figure=picture(found, model), caption=caption)]


def _table(one: PlanTable) -> Section:
    text = [one.after] if one.after else []
    return Section(title=one.title, text=text, rows=one.rows, columns=one.columns, labels=one.labels)


def _formulas(plan: FleetPlan) -> list[Section]:
    """Size and cost with the numbers in them, then one replica at its knee."""
    best = plan.best
    if best is None or best.fleet is None:
        return []
    lines = [*_size(plan, best.fleet), *_cost(plan, best, best.fleet)]
    found = [Section(title="Formulas with their numbers: the fleet", formulas=lines)]
    return [*found, *_replica(plan, best, best.fleet)]


def _size(plan: FleetPlan, fleet: Fleet) -> list[str]:
    need = plan.need
    least = need.sized_rps / fleet.knee_rps
    lines = [
        "replicas that are needed",
        "    rate (1 + headroom) / knee, rounded up",
        f"    {need.rate_rps:.4g} x (1 + {need.headroom_frac:g}) / {fleet.knee_rps:.4g} = {least:.4g}",
        f"    {fleet.n_needed:,} needed + {need.spare:,} spare = {fleet.n_replicas:,}",
    ]
    if fleet.n_needed > math.ceil(least):
        lines.append(
            f"    more than that since too few requests would be good, or P(miss) above {need.miss_prob:g}"
        )
    return lines


def _cost(plan: FleetPlan, best: Option, fleet: Fleet) -> list[str]:
    each, good = best.candidate.usd_per_hour, float(fleet.point["goodput_frac"])
    tokens, million = plan.load.workload.lengths.mean_output_tokens, plan.usd_per_million(best)
    if best.usd_per_hour is None or million is None:
        return []
    rate = plan.load.mean_rps
    peak = f"    {fleet.n_replicas:,} x ${each:.4g} = ${fleet.n_replicas * each:,.4g}"
    day = f"; in the mean over the hours ${best.usd_per_hour:,.4g}" if plan.load.is_day else ""
    return [
        "dollars an hour",
        "    replicas x price of one",
        peak + day,
        "dollars for a million good tokens",
        "    10^6 x dollars an hour / (mean rate x good x output tokens x 3600)",
        f"    10^6 x {best.usd_per_hour:,.4g} / ({rate:.4g} x {good:.4g} x {tokens:,.4g} x 3600)"
        f" = {million:.3g}",
    ]


def _replica(plan: FleetPlan, best: Option, fleet: Fleet) -> list[Section]:
    """What `sched-sim knee --explain` says of one replica."""
    from qtheory.planning import Knee, explained

    replica, curve, name = best.candidate.replica, fleet.curve, best.candidate.scenario.scheduler
    if replica is None:
        return []
    knee = Knee(
        scheduler=name,
        answered_by=curve.answered_by,
        goodput_frac=plan.need.goodput_frac,
        knee_rps=curve.knee_rps,
        fails=curve.fails,
        binds=curve.binds,
        limit_rps=curve.limit_rps,
    )
    parts: dict[str, Any] = {"moves": []}  # the table of worse inputs says what moves it
    try:
        parts["formulas"] = [asdict(line) for line in explained(replica, plan.load.workload, knee)]
    except ServingError as error:
        parts["why_not"] = f"{error}: nothing to explain it by"
    return sums(f"one replica, {name}", parts)
