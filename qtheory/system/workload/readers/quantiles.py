"""Laws of the lengths from means and quantiles by window of time, as ServeGen has them.

Columns: ``field`` (``input_tokens`` or ``output_tokens``; others are not read), ``mean``, ``p1``, ``p5``, ...
(quantiles at so many percent), and ``workload``, ``client``, ``window_start_s`` to choose by.

References
----------
.. [1] Xiang et al. (2025), "ServeGen: workload characterization and generation of large language model
   serving in production", arXiv:2505.09999, and the data published with it, github.com/alibaba/ServeGen,
   Apache-2.0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Empirical, Law

from ._choice import Chooser
from ._numbers import MOST_TOKENS, Numbers
from ._open import open_rows
from ._table import Block, FaultError, Rows, folded
from .format import place_of

__all__ = ["holds_quantiles", "read_length_laws"]

Floats = NDArray[np.float64]

_SHARES = 400  # a whole number of them lies between any two whole percents
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_FIELDS = ("input_tokens", "output_tokens")
_CHOICE = ("workload", "client", "window_start_s")


def holds_quantiles(header: Sequence[str]) -> bool:
    """Whether a line of column names is that of a table of quantiles.

    Examples
    --------
    >>> holds_quantiles(["client", "field", "mean", "p1", "p50", "p99"])
    True
    """
    names = {folded(name) for name in header}
    return {"field", "mean"} <= names and any(_QUANTILE.fullmatch(name) for name in names)


def read_length_laws(
    path: str | os.PathLike[str],
    *,
    workload: str | None = None,
    client: str | None = None,
    window_start_s: str | None = None,
) -> tuple[Law, Law]:
    """Laws of prompt and output tokens that have the means and the quantiles of a file, as 400 equally likely
    values a window.

    Between two quantiles the density is even; the part below the lowest one stands at it, that above the
    highest one is exponential, of the mean that makes the whole mean right. Where that is not possible, as
    the density falls too fast between quantiles, so much of each part is moved to its lower end as does.
    Windows count alike. How prompt and output hang together is not in such a file.

    Parameters
    ----------
    path : path
        A table with one field of one window a row.
    workload, client : str, optional
        What to choose; needed if the file has more than one.
    window_start_s : str, optional
        One window, as written (default: all).

    Raises
    ------
    ConfigError
        Naming file, line, column and value, and what is allowed, of a fault.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "lengths.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("field,mean,p10,p50,p90\\ninput_tokens,120,50,100,200\\n")
    ...         _ = file.write("output_tokens,9,9,9,9\\n")
    ...     prompt, output = read_length_laws(path)
    >>> print(f"{prompt.mean:g} {prompt.cdf(100.0):.6f} {output}")
    120 0.500000 constant(value=9)
    """
    chooser = Chooser({"workload": workload, "client": client})
    with open_rows(os.fspath(path)) as table:
        found = _rows(table, chooser, window_start_s)
        chooser.check(table.path)
        for name in _FIELDS:
            if not found[name]:
                chosen = f" of window_start_s={window_start_s}" if window_start_s is not None else ""
                raise ConfigError(f"{table.path}: no row with field {name}{chosen}; it is needed")
    prompt, output = (_law(found[name]) for name in _FIELDS)
    return prompt, output


def _law(windows: Sequence[Floats]) -> Law:
    values = np.concatenate(windows)
    if np.ptp(values) <= 1e-9 * values.max():
        return Constant(value=round(float(values.mean()), 6))  # without what the sums left behind
    return Empirical(values=values.tolist())


def _rows(table: Rows, chooser: Chooser, window: str | None) -> dict[str, list[Floats]]:
    if not holds_quantiles(table.header):
        found = ", ".join(table.header)[:200]
        raise ConfigError(
            f"{table.path}: line {table.header_line}: no length quantiles; found {found}; "
            "known are field, mean, p1 .. p99"
        )
    try:
        at = {name: place_of(table.header, [name]) for name in (*_CHOICE, "field", "mean")}
    except ConfigError as error:
        raise ConfigError(f"{table.path}: line {table.header_line}: {error}") from None
    levels = _levels(table)
    shares: dict[str, list[Floats]] = {name: [] for name in _FIELDS}
    for block in table.blocks():
        columns = {name: block.columns[index] for name, index in at.items() if index is not None}
        given = {name: columns[name] for name in chooser.wanted if name in columns}
        chosen = chooser.rows(given) if given else [True] * len(columns["field"])
        for row, is_chosen in enumerate(chosen):
            field = columns["field"][row].strip()
            wrong_window = window is not None and columns.get("window_start_s", ())[row : row + 1] != (
                window,
            )
            if is_chosen and field in shares and not wrong_window:
                line = _Line(block=block, row=row, header=table.header)
                shares[field].append(line.shares(levels, at["mean"] or 0))
    return shares


def _levels(table: Rows) -> Mapping[int, float]:
    """Column of each quantile to its level, in the order of the levels."""
    matches = {index: _QUANTILE.fullmatch(folded(name)) for index, name in enumerate(table.header)}
    levels = {index: float(match[1]) / 100.0 for index, match in matches.items() if match}
    if len(set(levels.values())) < len(levels) or min(levels.values()) <= 0:
        raise ConfigError(f"{table.path}: line {table.header_line}: quantiles must differ and lie above p0")
    return dict(sorted(levels.items(), key=lambda item: item[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One row of a table of quantiles."""

    block: Block
    row: int
    header: Sequence[str]

    def _number(self, index: int) -> float:
        text = self.block.columns[index][self.row]
        try:
            return float(Numbers(most=MOST_TOKENS, zero=True).take([text])[0])
        except FaultError as fault:
            raise self._error(index, fault.why) from None

    def shares(self, levels: Mapping[int, float], mean_index: int) -> Floats:
        mean, last = self._number(mean_index), 0.0
        points = []
        for index, level in levels.items():
            value = self._number(index)
            if value < last:
                raise self._error(index, "is below the quantile before it")
            points.append((level, value))
            last = value
        try:
            return _shares(points, mean)
        except FaultError as fault:
            raise self._error(mean_index, fault.why) from None

    def _error(self, index: int, why: str) -> ConfigError:
        return self.block.error(self.row, self.header[index], self.block.columns[index][self.row], why)


def _shares(points: Sequence[tuple[float, float]], mean: float) -> Floats:
    """Means of equal shares of the law with these quantiles, from the smallest values to the largest."""
    levels, values = (np.array(column) for column in zip(*points, strict=True))  # (m,), (m,)
    rest, highest = 1.0 - levels[-1], float(values[-1])
    weights, lower = np.diff(levels, prepend=0.0), np.concatenate([values[:1], values[:-1]])
    least = float(weights @ lower + rest * highest)
    spread = float(weights @ (values - lower)) / 2.0
    if least > 1.01 * mean:
        raise FaultError(0, f"is below {least:g}, the least that the quantiles allow; check the row")
    beyond = max(0.0, mean - least - spread) / rest  # mean of what exceeds the highest quantile
    moved = min(1.0, max(0.0, least + spread - mean) / spread) if spread else 0.0
    # the quantile function: flat over a share `moved` of each part, then straight
    turn = levels - weights * (1.0 - moved)  # (m,)
    at = np.concatenate([[0.0], np.column_stack([turn, levels]).ravel()])  # (2m+1,)
    height = np.concatenate([values[:1], np.column_stack([lower, values]).ravel()])  # (2m+1,)
    area = np.concatenate([[0.0], np.cumsum(np.diff(at) * (height[1:] + height[:-1]) / 2.0)])
    edges = np.linspace(0.0, 1.0, _SHARES + 1)
    inside = np.minimum(edges, levels[-1])
    part = np.clip(np.searchsorted(at, inside, side="right") - 1, 0, len(at) - 2)
    level_height = np.interp(inside, at, height)
    below = area[part] + (inside - at[part]) * (height[part] + level_height) / 2.0
    over, left = edges - inside, 1.0 - edges
    tail = highest * over + beyond * (over + xlogy(left, np.where(over > 0, left / rest, 1.0)))
    means: Floats = np.diff(below + tail) * _SHARES
    return means
