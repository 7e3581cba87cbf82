"""Answers of queueing models as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from qtheory.queues.kendall.quantity import percentile_head
from qtheory.report import human, pairs, table

if TYPE_CHECKING:
    from qtheory.queues.kendall import KendallModel, QueueAnswer, Solution

__all__ = [
    "answer_text",
    "explanation_of",
    "model_row",
    "models_text",
    "parameters_text",
    "rates_text",
    "solution_text",
]

_LABELS = {
    "utilization_frac": "utilization",
    "prob_wait": "probability of waiting",
    "prob_empty": "probability that nobody is there",
    "prob_block": "share turned away",
    "prob_abandon": "share that leaves without service",
    "prob_server_idle": "share of time without a service",
    "capacity_rps": "stable below",
    "n_servers": "servers",
}
_WIDE: dict[str, Any] = {"width": 100, "break_on_hyphens": False, "break_long_words": False}
_KINDS = ("wait", "response", "number")


def answer_text(answer: QueueAnswer, row: Mapping[str, Any], percentiles: Sequence[float]) -> str:
    """One answer: the model, how good it is, times and numbers, and what it does not give."""
    said = answer.asked.said()
    good = {"exactness": f"{row['exactness']}; {row['route']}"}
    laws, used = _laws(answer, row, percentiles)
    reserved = {"model", "exactness", "route", "not_given", *said, *used}
    rest = {name: value for name, value in row.items() if name not in reserved}
    blocks = [
        fill(f"{answer.asked.title}: {answer.asked.entry.says}", **_WIDE),
        pairs(_plain(answer, said) | good, labels=_LABELS | {name: _words(name) for name in said}),
        laws,
        pairs(rest, labels=_LABELS),
        _not_given(row["not_given"]),
    ]
    return "\n\n".join(block for block in blocks if block)


def _plain(answer: QueueAnswer, said: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as they were given: all their digits, the unit behind."""
    shown = {}
    for name, value in said.items():
        unit = answer.asked.entry.parameter(name).unit
        values = value if isinstance(value, list) else [value]
        texts = [f"{one:.10g}" if isinstance(one, int | float) else str(one) for one in values]
        numeric = all(isinstance(one, int | float) for one in values)
        shown[name] = ", ".join(texts) + (f" {unit}" if unit and numeric else "")
    return shown


def _words(name: str) -> str:
    return _LABELS.get(name, name.removesuffix("_rps").removesuffix("_s").replace("_", " "))


def _laws(answer: QueueAnswer, row: Mapping[str, Any], percentiles: Sequence[float]) -> tuple[str, set[str]]:
    """A line each for wait, response, number and what else has a law, and the names that stand in it."""
    from qtheory.queues.kendall import percentile_name, variance_name

    lines, used = [], set()
    for what in dict.fromkeys(
        ("wait", "response", *answer.laws, "number", *answer.number_laws, "busy_period")
    ):
        mean = variance_name(what).replace("var_", "mean_").replace("_s2", "_s")
        names = {
            "mean": mean,
            **{percentile_head(level): percentile_name(level, what) for level in percentiles},
        }
        unit = "mean_number" if what.startswith("number") else "mean_s"
        line = {heading: human(unit, row[name]) for heading, name in names.items() if name in row}
        if (variance := row.get(variance_name(what))) is not None:
            line["std dev"] = human(unit, math.sqrt(max(variance, 0.0)))
        used |= {*names.values(), variance_name(what)}
        if line:
            lines.append({"": what.replace("_", " ").replace("class", "class "), **line})
    columns = ["", "mean", "std dev", *(percentile_head(level) for level in percentiles)]
    return table(lines, columns), used


def _not_given(reasons: Mapping[str, str]) -> str:
    """Quantities that are not there, those with one reason together."""
    together: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        together.setdefault(reason, []).append(name)
    lines = [
        fill(f"not given: {', '.join(names)}, because {why}", subsequent_indent="  ", **_WIDE)
        for why, names in together.items()
    ]
    return "\n".join(lines)


def rates_text(rows: Sequence[Mapping[str, Any]], says: str, percentiles: Sequence[float]) -> str:
    """A line a rate, and what is said of those without a steady state."""
    times = [
        f"{head}_{what}_s"
        for what in _KINDS[:2]
        for head in ("mean", *(percentile_head(p) for p in percentiles))
    ]
    columns = ["rate_rps", "utilization_frac", *times, "mean_number", "prob_block", "prob_abandon"]
    blocks = [fill(says, **_WIDE), table(rows, columns)]
    lost = [row["unstable"] for row in rows if "unstable" in row]
    reasons = {name: why for row in rows for name, why in row.get("not_given", {}).items() if name in columns}
    good = list(dict.fromkeys(f"{row['exactness']}; {row['route']}" for row in rows if "route" in row))
    blocks.append("\n".join([*good[:4], *(f"no steady state: {why}" for why in lost[:1])]))
    return "\n\n".join(block for block in [*blocks, _not_given(reasons)] if block)


def solution_text(solution: Solution) -> str:
    """The unknown in a sentence, and what happens at the next value."""
    extreme = "largest" if solution.is_largest else "smallest"
    condition = " and ".join(map(str, solution.conditions))
    name = solution.unknown.name
    if solution.value is None:
        return fill(f"{extreme} {name} with {condition}: {solution.says}", **_WIDE)
    shown = f"{solution.value:,}" if isinstance(solution.value, int) else f"{solution.value:.10g}"
    unit = f" {solution.unknown.unit}" if solution.unknown.unit else ""
    head = f"{extreme} {name} with {condition}: {shown}{unit}"
    return (
        f"{fill(head, **_WIDE)}\n{fill(solution.says, initial_indent='  ', subsequent_indent='  ', **_WIDE)}"
    )


def explanation_of(answer: QueueAnswer) -> tuple[str, list[dict[str, Any]]]:
    """The derived formulas with the numbers in them; else the route, and where it is from."""
    from qtheory.basics.errors import ConfigError
    from qtheory.symbolic import explain

    try:
        found = explain(answer.model)
    except ConfigError:
        route = answer.result.route
        text = f"No formula is derived here for {answer.asked.title}. It goes this way: {route}."
        return "\n".join([fill(text, **_WIDE), *_sources(answer.asked.entry)]), []
    rows = [
        {
            "quantity": one.derivation.answer.meaning,
            "formula": one.derivation.formula_text,
            "value": one.substitution.value,
            "unit": one.derivation.answer.unit,
            "exactness": one.substitution.exactness,
            "elasticities": one.elasticities,
        }
        for one in found
    ]
    return "\n\n".join(one.text() for one in found), rows


def _sources(model: KendallModel) -> list[str]:
    """References of the model's description."""
    from inspect import cleandoc

    text = cleandoc(model.kind.__doc__ or "").partition("References\n----------\n")[2]
    entries = text.partition("\n\n")[0].split(".. [")[1:]
    return [
        fill("Source: " + " ".join(entry.partition("] ")[2].split()), subsequent_indent="  ", **_WIDE)
        for entry in entries
    ]


def model_row(model: KendallModel) -> dict[str, Any]:
    """What a model takes and what it answers, from its example."""
    from qtheory.queues.kendall import NamedQueue, answer

    row: dict[str, Any] = {"name": model.name, "also": list(model.also), "says": model.says}
    needed, optional = NamedQueue(name=model.name).takes()
    row |= {"takes": needed, "may": optional, "laws": [], "means": [], "numbers": []}
    if not model.example:
        return row
    one = answer(NamedQueue(name=model.name, given=model.example))
    laws = [name for name in one.laws if "class" not in name]
    laws += [f"{w} of each class" for w in _KINDS[:2] if f"{w}_class1" in one.laws]
    laws += ["number"] if one.result.number_pmf is not None else []
    units = ("mean_wait_s", "mean_response_s", "mean_number")
    means = [name for name in units if one.numbers.get(name) is not None]
    shown = [name.removeprefix("mean_").removesuffix("_s") for name in means]
    others = [name for name, value in one.numbers.items() if value is not None and name not in units]
    alone = [name for name in shown if name not in laws]
    return row | {"laws": laws, "means": alone, "numbers": others, "exactness": one.result.exactness}


def models_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """A block a model."""
    blocks = []
    for row in rows:
        also = f" (also {', '.join(row['also'])})" if row["also"] else ""
        may = f"; may have {', '.join(row['may'])}" if row["may"] else ""
        lines = [f"{row['name']}{also}", f"  {row['says']}", f"  takes {', '.join(row['takes'])}{may}"]
        gives = [f"laws of {', '.join(row['laws'])}"] if row["laws"] else []
        gives += [f"means of {', '.join(row['means'])}"] if row["means"] else []
        lines.append(f"  answers {'; '.join([*gives, ', '.join(row['numbers'])])}")
        blocks += [fill(line, subsequent_indent="    ", **_WIDE) for line in lines]
    return "\n".join(blocks)


def parameters_text(model: KendallModel) -> str:
    """Each parameter of a model with its unit and meaning."""
    from qtheory.queues.kendall import NamedQueue

    names = NamedQueue(name=model.name).open_names()
    return "\n".join(fill(f"  {model.parameter(name)}", subsequent_indent="    ", **_WIDE) for name in names)
