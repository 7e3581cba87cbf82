"""Which model gives which quantity, how good it is, and by what it is checked.

``python -m validation.oracles KNOWN_VALUES.csv`` prints the page ``docs/models.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from qtheory.basics.errors import ConfigError, ServingError, UnstableError
from qtheory.queues.kendall import (
    KendallModel,
    NamedQueue,
    NotGivenError,
    QueueAnswer,
    answer,
    kendall_models,
)

from ._checks import CHECKS, OTHERS
from ._page_text import DIFFERENCES, HEAD
from ._table import rows_of

__all__ = ["COLUMNS", "Cell", "cells", "is_unbuilt", "page"]

SYMBOLS = {"exact": "=", "numerical": "=", "approximation": "≈", "bound": "≤"}
NONE, UNBUILT = "–", "○"
COLUMNS: Mapping[str, str] = {
    "wait mean": "mean_wait_s",
    "wait var": "var_wait_s2",
    "wait law": "p99_wait_s",
    "response mean": "mean_response_s",
    "response var": "var_response_s2",
    "response law": "p99_response_s",
    "number mean": "mean_number",
    "number law": "p99_number",
    "P(wait)": "prob_wait",
    "P(empty)": "prob_empty",
    "P(lost)": "prob_lost",
    "stable below": "stable",
}
"""Columns, and the quantity behind each."""

_LAZY = (
    "the model does not compute it",
    "the model gives the mean response alone",
    "for the wait the model has the mean alone",
    "for the response the model has the mean alone",
    "for the number the model has the mean alone",
    "no route to it is built",
)
"""Words that say nothing about the theory: a route may exist."""
_OWN = {
    ("M/G/1 busy period", "P(empty)"): (
        "a busy period is not a queue that a customer sees: M/G/1 gives waits and numbers"
    ),
    ("closed M(n)/1", "P(wait)"): "the arrivals of a closed group are not an open stream: see the throughput",
    (
        "closed M(n)/1",
        "wait var",
    ): "the arrivals of a closed group are not an open stream: see the throughput",
    (
        "closed M(n)/1",
        "wait law",
    ): "the arrivals of a closed group are not an open stream: see the throughput",
    ("open Jackson network", "P(empty)"): "each station has its own: the product of those of M/M/c",
    (
        "fork-join",
        "P(empty)",
    ): "the joined queues depend on each other; exact laws are not known beyond two of them",
    ("closed network", "P(empty)"): "the number present is fixed",
    ("GI/G/1", "P(wait)"): "two moments do not decide it",
}
_LETS_GO = {"capacity", "limit_s", "mean_patience_s", "patience_s", "patience", "time_s"}
"""Parameters of models that have a steady state, or an answer, at any rate."""
_NOBODY_LOST = "nobody is turned away or leaves"
_ALWAYS_STABLE = "there is a steady state at any rate"
_CLOSED = "a closed group has a steady state always"
_NEEDS_RATES = "the rates of all stations are given, and each must stay below its servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A symbol, and where there is no value the reason."""

    symbol: str
    reason: str = ""


def is_unbuilt(reason: str) -> bool:
    """Whether a reason says only that nobody has built it.

    Examples
    --------
    >>> is_unbuilt("the model does not compute it"), is_unbuilt("nobody is turned away or leaves")
    (True, False)
    """
    return any(words in reason for words in _LAZY)


def cells(model: KendallModel) -> tuple[QueueAnswer, dict[str, Cell]]:
    """The answer to the example of a model, and a cell for each column."""
    found = answer(NamedQueue(name=model.name, given=model.example))
    given = Cell(symbol=SYMBOLS[found.result.exactness])
    row: dict[str, Cell] = {}
    for column, quantity in COLUMNS.items():
        if quantity == "stable":
            row[column] = _stability(found.asked)
            continue
        reason = _lost(found) if quantity == "prob_lost" else _reason(found, quantity)
        reason = _OWN.get((model.name, column), reason) if reason else ""
        mark = UNBUILT if is_unbuilt(reason) else NONE
        row[column] = Cell(symbol=mark, reason=reason) if reason else given
    return found, row


def _reason(found: QueueAnswer, quantity: str) -> str:
    """Why there is no such number; empty if there is one, of all customers or of each class."""
    head, _, what = quantity.removesuffix("_s2").removesuffix("_s").partition("_")
    if what == "number" and head != "mean" and found.result.number_pmf is not None:
        return ""
    law = found.laws.get(f"{what}_class1")
    try:
        if law is None:
            found.value(quantity)
        elif head == "var":
            float(law.var_s2)
    except NotGivenError as error:
        return error.reason
    return ""


def _lost(found: QueueAnswer) -> str:
    given = {"prob_block", "prob_abandon", "late_start_frac"} & set(found.numbers)
    return "" if given else _NOBODY_LOST


def _stability(asked: NamedQueue) -> Cell:
    """Whether a limit is known: many times the rate of the example is refused as unstable."""
    if asked.entry.name == "open Jackson network":
        return Cell(symbol="=", reason=_NEEDS_RATES)
    if _LETS_GO & {*asked.entry.takes, *asked.entry.fields}:
        return Cell(symbol=NONE, reason=_ALWAYS_STABLE)
    for rate in (2.0, 5.0, 20.0, 200.0):
        try:
            asked.with_rate(rate).model().solve()
        except UnstableError:
            return Cell(symbol="=")
        except ConfigError:
            return Cell(symbol=NONE, reason=_CLOSED)
        except ServingError:
            break
    return Cell(symbol=NONE, reason=_ALWAYS_STABLE)


def page(table: str | Path) -> str:
    """The text of the page.

    Parameters
    ----------
    table : str or Path
        The table of known values that is shipped with the tests.

    Raises
    ------
    ConfigError
        If the table cannot be read.
    """
    rows = Counter(row.model for row in rows_of(Path(table)))
    return HEAD + "\n".join([*_tables(rows), "", *_others()]) + DIFFERENCES


def _tables(rows_by_model: Mapping[str, int]) -> Iterator[str]:
    """Lines of the two tables, of the reasons, and of what is not built."""
    notes: dict[str, int] = {}
    unbuilt: list[str] = []
    routes: list[str] = []
    yield _line("model", *COLUMNS)
    yield _line(*["---"] * (1 + len(COLUMNS)))
    for model in kendall_models():
        found, row = cells(model)
        yield _line(_name(model.name), *(_shown(cell, notes) for cell in row.values()))
        missing = [column for column, cell in row.items() if cell.symbol == UNBUILT]
        unbuilt += [f"- {_name(model.name)}: {', '.join(missing)}"] if missing else []
        routes.append(_checked(model.name, found.result.route, rows_by_model))
    yield from ("", *(f"{number}. {reason}" for reason, number in notes.items()))
    yield from ("", "## Routes and checks", "", _line("model", "route", "checked by", "known values"))
    yield _line(*["---"] * 4)
    yield from routes
    if unbuilt:
        yield from ("", "## Not built", "", "Theory has, or may have, a route to these:", "", *unbuilt)


def _others() -> Iterator[str]:
    """Models without a name in Kendall's notation, by the first line of what they say of themselves."""
    yield from ("## Without a name in Kendall's notation", "", _line("model", "what it is", "checked by"))
    yield _line(*["---"] * 3)
    for place, check in OTHERS.items():
        folder, _, name = place.partition(".")
        says = (getattr(import_module(f"qtheory.queues.{folder}"), name).__doc__ or "").splitlines()[0]
        plain = re.sub(r",? ?\[\d\]_", "", re.sub(r":math:`([^`]*)`", r"$\1$", says))
        yield _line(_name(name), plain.replace("|", "\\|"), f"{check.second} (`{check.test}`)")


def _shown(cell: Cell, notes: dict[str, int]) -> str:
    if not cell.reason or cell.symbol == UNBUILT:
        return cell.symbol
    return f"{cell.symbol} {notes.setdefault(cell.reason, len(notes) + 1)}"


def _checked(name: str, route: str, rows_by_model: Mapping[str, int]) -> str:
    check = CHECKS[name]
    rows = sum(rows_by_model.get(table, 0) for table in check.tables)
    return _line(_name(name), route, f"{check.second} (`{check.test}`)", str(rows) if rows else NONE)


def _name(name: str) -> str:
    return f"`{name}`"


def _line(*words: str) -> str:
    return f"| {' | '.join(words)} |"
