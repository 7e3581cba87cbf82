"""The tables of a plan: what happens if, hour by hour, the next best, cost against latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from qtheory.planning.fleet_plan import FleetPlan
from qtheory.report import table

from ._plan_rows import Found, day_rows, fixed_rows, front_rows, option_rows

__all__ = ["PlanTable", "lost_lines", "plan_tables"]

_ROWS, _LOST = 8, 8
_WIDE = (
    "fleet", "usd_per_hour", "usd_per_million_good_tokens", "knee_rps", "of_knee_frac", "p90_ttft_s",
    "p90_tpot_s", "miss_prob", "answered_by", "why",
)  # fmt: skip
_NARROW = ("fleet", "usd_per_hour", "knee_rps", "miss_prob", "answered_by", "why")
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
    "n_missed": "missed",
    "peak_waiting": "most wait",
    "overloaded_s": "overloaded (h)",
    "late_s": "late after it (h)",
}


@dataclass(frozen=True, kw_only=True)
class PlanTable:
    """A table with a title above and a sentence below.

    Parameters
    ----------
    title : str
    rows : sequence of mappings
    columns : sequence of str
        Those to show (default: all).
    labels : mapping
        Heads of columns.
    after : str
        What stands below.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=lambda: _LABELS)
    after: str = ""

    def text(self) -> str:
        """The same for people."""
        lines = [self.title, table(self.rows, self.columns or None, labels=self.labels)]
        return "\n".join(lines + ([self.after] if self.after else []))


def plan_tables(found: Found, *, is_wide: bool = False) -> list[PlanTable]:
    """All tables of a plan that has a fleet, in the order in which they are read.

    Parameters
    ----------
    found : Found
    is_wide : bool
        Whether there is room for all columns and rows.
    """
    if found.plan.best is None:
        return []
    made = [
        _away(found),
        _sensitive(found),
        _day(found),
        _fixed(found),
        _others(found, is_wide=is_wide),
        _front(found),
    ]
    return [one for one in made if one is not None and one.rows]


def _away(found: Found) -> PlanTable:
    rows = [asdict(one) | {"is_enough": _yes(one.is_enough)} for one in found.away]
    return PlanTable(title="With replicas away, at the full rate", rows=rows, labels=_LABELS | {"what": "if"})


def _yes(is_enough: bool | None) -> str:
    return "not predicted" if is_enough is None else "yes" if is_enough else "no"


def _sensitive(found: Found) -> PlanTable | None:
    best = found.plan.best
    if best is None:
        return None
    rows = []
    for one in found.worse:
        cost = None if one.n_replicas is None else one.n_replicas * best.candidate.usd_per_hour
        rows.append(asdict(one) | {"usd_per_hour": cost})
    labels = _LABELS | {"what": "if"} | ({"usd_per_hour": "$/h at the peak"} if found.hours else {})
    title = "If an input is a tenth worse (closed forms)"
    return PlanTable(title=title, rows=rows, labels=labels, after=_switch(found))


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


def _day(found: Found) -> PlanTable:
    rows = [row | {"start_s": row["start_s"] / 3600} for row in day_rows(found)]
    cost = sum(hour.usd for hour in found.hours)
    hours = sum(hour.stage.length_s for hour in found.hours) / 3600
    best = found.plan.best
    peak = best.fleet.n_replicas * best.candidate.usd_per_hour * hours if best and best.fleet else 0.0
    columns: tuple[str, ...] = ("start_s", "mean_rps", "peak_rps", "n_replicas", "cost_usd")
    labels = _LABELS
    if rows and "one_fewer_waiting" in rows[0] and best and best.fleet:
        all_day = f"with {best.fleet.n_replicas - 1} all day"
        labels = labels | {
            "one_fewer_goodput_frac": f"{all_day}: good (%)",
            "one_fewer_waiting": "and wait at its end",
        }
        rows = [row | {"one_fewer_waiting": _whole(row["one_fewer_waiting"])} for row in rows]
        columns += ("one_fewer_goodput_frac", "one_fewer_waiting")
    saved = f"{100 * (1 - cost / peak):.0f} % less than" if cost < peak else "as much as"
    after = f"${cost:,.4g} in {hours:.4g} h, {saved} the ${peak:,.4g} of the full fleet all the time"
    return PlanTable(title="Hour by hour", rows=rows, columns=columns, labels=labels, after=after)


def _whole(waiting: float | None) -> int | None:
    return None if waiting is None else round(waiting)


def _fixed(found: Found) -> PlanTable:
    """The full fleet all the time, and smaller ones."""
    share = f"{100 * found.plan.need.goodput_frac:.4g} %"
    rows = [
        row
        | {
            "overloaded_s": row["overloaded_s"] / 3600,
            "late_s": "not gone" if row["late_s"] is None else row["late_s"] / 3600,
            "peak_waiting": _whole(row["peak_waiting"]),
        }
        for row in fixed_rows(found)
    ]
    return PlanTable(
        title="The same fleet all the time (closed forms; fluid + diffusion)",
        rows=rows,
        after=f"missed: hours with fewer than {share} good; what one hour leaves over is late in the next",
    )


def _others(found: Found, *, is_wide: bool) -> PlanTable:
    """The next best; all of them with all columns where there is room."""
    rows = [
        row | {"fleet": f"{row['n_replicas']} x ({option.candidate.told})"}
        for option, row in zip(found.plan.options, option_rows(found), strict=True)
        if row["rank"] is not None
    ][1:]
    for row in rows:
        row["answered_by"] = str(row["answered_by"]).rpartition(", ")[2]
        row["miss_prob"] = round(row["miss_prob"], 3)
    if is_wide:
        return PlanTable(title="Next best", rows=rows, columns=_WIDE)
    left = f"and {len(rows) - _ROWS} more (--format csv has all)" if len(rows) > _ROWS else ""
    return PlanTable(title="Next best", rows=rows[:_ROWS], columns=_NARROW, after=left)


def _front(found: Found) -> PlanTable:
    title = "No fleet is cheaper and faster than these, at the highest rate"
    return PlanTable(title=title, rows=front_rows(found), columns=("fleet", "usd_per_hour", found.latency))


def lost_lines(plan: FleetPlan) -> list[str]:
    """Why candidates have no fleet, one line a reason.

    Parameters
    ----------
    plan : FleetPlan
    """
    reasons: dict[str, list[str]] = {}
    for option in plan.options:
        if option.fleet is None:
            kind = option.reason.partition(":")[0] if option.reason.startswith("too dear") else option.reason
            reasons.setdefault(kind, []).append(option.candidate.told)
    lines = []
    for reason, names in list(reasons.items())[:_LOST]:
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        why = "more than four times the cost, even at the stability limit" if reason == "too dear" else reason
        lines.append(f"{'; '.join(names[:2])}{more}: {why}")
    if len(reasons) > _LOST:
        lines.append(f"and {len(reasons) - _LOST} more reasons (--format csv has all)")
    return lines
