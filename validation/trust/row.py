"""A row of the page: the errors of one quantity under one kind of load, and how they are summed up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Miss", "Row", "rows_of", "table"]

_HEADER = "| accelerator | engine | quantity | load | setting | route | n | half within | 90 % within |"
_RULE = "|---|---|---|---|---|---|---:|---:|---:|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Errors of one quantity.

    Parameters
    ----------
    hardware, engine, metric, load : str
        What was measured, on what.
    setting : str
        What was fitted before, such as ``datasheet``.
    route : str
        ``theory`` or ``simulation``, or ``step time``.
    unit : str
        ``%`` of the measured value, or ``points`` of a share.
    n : int
        Measurements.
    median, p90 : float
        Half and nine in ten of the absolute errors are at most this, in ``unit``.

    Examples
    --------
    >>> row = Row(hardware="h100", engine="vllm", metric="TPOT", load="8 in flight", setting="datasheet",
    ...     route="theory", unit="%", n=3, median=4.2, p90=9.0)
    >>> row.cells()[-3:]
    ('3', '4.2 %', '9.0 %')
    """

    hardware: str
    engine: str
    metric: str
    load: str
    setting: str
    route: str
    unit: str
    n: int
    median: float
    p90: float

    def cells(self) -> tuple[str, ...]:
        """Text of each column."""
        sizes = (f"{value:.1f} {self.unit}" for value in (self.median, self.p90))
        words = (self.hardware, self.engine, self.metric, self.load, self.setting, self.route)
        return (*words, f"{self.n:,}", *sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """One measurement's error, an absolute value in ``unit``; the other fields are those of `Row`.

    Examples
    --------
    >>> Miss(hardware="h100", engine="vllm", metric="TPOT", load="", setting="datasheet", route="theory",
    ...     unit="%", error=4.0).group[:2]
    ('h100', 'vllm')
    """

    hardware: str
    engine: str
    metric: str
    load: str
    setting: str
    route: str
    unit: str
    error: float

    @property
    def group(self) -> tuple[str, ...]:
        """What it is summed up with."""
        return self.hardware, self.engine, self.metric, self.load, self.setting, self.route, self.unit


def rows_of(misses: Iterable[Miss]) -> list[Row]:
    """Errors summed up by accelerator, engine, quantity, load, setting and route, in order of appearance.

    Parameters
    ----------
    misses : iterable of Miss
        Those whose error is not a number are left out.

    Examples
    --------
    >>> common = {"hardware": "h100", "engine": "vllm", "metric": "TPOT", "load": "", "setting": "datasheet"}
    >>> misses = [Miss(route="theory", unit="%", error=error, **common) for error in (1.0, 2.0, 3.0)]
    >>> [(row.n, row.median) for row in rows_of(misses)]
    [(3, 2.0)]
    """
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for miss in misses:
        if not math.isnan(miss.error):
            groups[miss.group].append(miss.error)
    names = ("hardware", "engine", "metric", "load", "setting", "route", "unit")
    return [
        Row(
            **dict(zip(names, group, strict=True)),
            n=len(errors),
            median=float(np.quantile(errors, 0.5)),
            p90=float(np.quantile(errors, 0.9)),
        )
        for group, errors in groups.items()
    ]


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table.

    Parameters
    ----------
    rows : sequence of Row

    Examples
    --------
    >>> print(table([]))
    | accelerator | engine | quantity | load | setting | route | n | half within | 90 % within |
    |---|---|---|---|---|---|---:|---:|---:|
    """
    return "\n".join([_HEADER, _RULE, *(f"| {' | '.join(row.cells())} |" for row in rows)])
