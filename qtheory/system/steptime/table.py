"""Step times interpolated in measurements."""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text
from qtheory.basics.ranges import number_between

from .protocol import StepLoad

__all__ = ["Table", "read_table"]

_LARGEST_BYTES = 8_000_000
_COLUMNS = ("table", "tokens", "mean_context", "ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Approximation: measured seconds of prompts and of decodes, interpolated and added.

    A step takes the seconds of its prompt tokens (linear between measurements) plus the seconds of its
    decodes (linear in the summed and in the mean context). A part that has no tokens takes no time.

    Parameters
    ----------
    prefill_tokens, prefill_s : sequence of float
        Prompt tokens of a step, rising, and its seconds, > 0.
    decode_context_tokens, mean_context_tokens : sequence of float
        Grid of summed and mean context of the decodes, each rising.
    decode_s : sequence of sequence of float
        Seconds, > 0: a row for each summed context, a column for each mean context.
    outside : str
        ``error``, or ``hold``: outside the measured range the nearest measurement holds.

    Raises
    ------
    ConfigError
        If the measurements do not form such tables; later, if a load is outside them.

    Examples
    --------
    >>> table = Table(prefill_tokens=(0, 1000), prefill_s=(0.01, 0.11), decode_context_tokens=(0, 1000),
    ...               mean_context_tokens=(100, 200), decode_s=((0.01, 0.01), (0.03, 0.05)))
    >>> print(f"{table.step_s(StepLoad(n_decodes=5, decode_context_tokens=500)):.3f}")
    0.020
    """

    prefill_tokens: Sequence[float]
    prefill_s: Sequence[float]
    decode_context_tokens: Sequence[float]
    mean_context_tokens: Sequence[float]
    decode_s: Sequence[Sequence[float]]
    outside: str = "error"

    def __post_init__(self) -> None:
        checks.one_of("outside", self.outside, ("error", "hold"))
        for name in ("prefill_tokens", "decode_context_tokens", "mean_context_tokens"):
            axis = getattr(self, name)
            for value in axis:
                number_between(name, value, 0.0, 1e12)
            if len(axis) < 2 or any(after <= before for before, after in pairwise(axis)):
                raise ConfigError(f"{name}: needs two or more rising values")
        rows = {"prefill_s": (self.prefill_s, self.prefill_tokens)}
        rows |= {f"decode_s[{i}]": (row, self.mean_context_tokens) for i, row in enumerate(self.decode_s)}
        for name, (seconds, axis) in rows.items():
            if len(seconds) != len(axis):
                raise ConfigError(f"{name}: {len(seconds)} values for {len(axis)} points")
            for value in seconds:
                number_between(name, value, 1e-9, 1e6)
        if len(self.decode_s) != len(self.decode_context_tokens):
            raise ConfigError(
                f"decode_s: {len(self.decode_s)} rows for {len(self.decode_context_tokens)} summed contexts"
            )

    def step_s(self, load: StepLoad) -> float:
        """Seconds of one step with this load.

        Raises
        ------
        ConfigError
            If the load is outside the measurements and ``outside`` is ``error``.
        """
        n, context, prompt, _, _, _ = load
        seconds = 0.0
        if prompt:
            i, share = self._place("prefill_tokens", self.prefill_tokens, prompt)
            seconds += _between(self.prefill_s[i], self.prefill_s[i + 1], share)
        if n:
            i, share = self._place("decode_context_tokens", self.decode_context_tokens, context)
            j, across = self._place("mean_context_tokens", self.mean_context_tokens, context / n)
            low = _between(self.decode_s[i][j], self.decode_s[i][j + 1], across)
            high = _between(self.decode_s[i + 1][j], self.decode_s[i + 1][j + 1], across)
            seconds += _between(low, high, share)
        return seconds

    def decode_line(self, n_decodes: int) -> None:
        """None: a table is not a line."""

    def _place(self, name: str, axis: Sequence[float], value: float) -> tuple[int, float]:
        """Index of the interval of ``axis`` that holds ``value``, and the share of it that lies below."""
        if not axis[0] <= value <= axis[-1]:
            if self.outside == "error":
                raise ConfigError(
                    f"{name}: {value:g} is outside the measured {axis[0]:g} .. {axis[-1]:g}; "
                    "measure further, or say outside='hold'"
                )
            value = min(max(value, axis[0]), axis[-1])
        i = min(bisect_right(axis, value), len(axis) - 1) - 1
        return i, (value - axis[i]) / (axis[i + 1] - axis[i])


def _between(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def read_table(path: Path, *, outside: str = "error") -> Table:
    """A `Table` from a CSV file with the columns ``table``, ``tokens``, ``mean_context``, ``ms``.

    Parameters
    ----------
    path : Path
        ``table`` is ``prefill`` (``tokens``: prompt tokens of the step) or ``decode`` (``tokens``: summed
        context; ``mean_context``); ``ms`` are milliseconds.
    outside : str
        As in `Table`.

    Raises
    ------
    ConfigError
        If the file cannot be read, lacks a column, or its rows do not fill a grid.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = ["table,tokens,mean_context,ms", "prefill,0,,10", "prefill,1000,,110", "decode,0,100,10",
    ...         "decode,0,200,10", "decode,1000,100,30", "decode,1000,200,50"]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "steps.csv")
    ...     _ = file.write_text("\\n".join(rows))
    ...     table = read_table(file)
    >>> print(f"{table.step_s(StepLoad(prefill_tokens=500)):.3f}")
    0.060
    """
    content = read_text(path, most_bytes=_LARGEST_BYTES, wanted=f"a CSV table of {', '.join(_COLUMNS)}")
    try:
        rows = list(csv.DictReader(io.StringIO(content, newline="")))
    except csv.Error as error:
        raise ConfigError(f"{path}: not CSV ({error}); check the quotes") from None
    prefill: dict[float, float] = {}
    decode: dict[tuple[float, float], float] = {}
    for line, row in enumerate(rows, start=2):
        where = f"{path}: line {line}"
        for name in _COLUMNS:
            if row.get(name) is None:
                raise ConfigError(f"{where}: {name}: missing; the columns are {', '.join(_COLUMNS)}")
        try:
            checks.one_of("table", row["table"], ("prefill", "decode"))
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        seconds = _number(row, "ms", where) / 1000
        if row["table"] == "prefill":
            prefill[_number(row, "tokens", where)] = seconds
        else:
            decode[_number(row, "tokens", where), _number(row, "mean_context", where)] = seconds
    return _grid(prefill, decode, path, outside)


def _grid(
    prefill: dict[float, float], decode: dict[tuple[float, float], float], path: Path, outside: str
) -> Table:
    sums = sorted({key[0] for key in decode})
    means = sorted({key[1] for key in decode})
    for total in sums:
        for mean in means:
            if (total, mean) not in decode:
                raise ConfigError(f"{path}: decode: no row with tokens={total:g}, mean_context={mean:g}")
    tokens = sorted(prefill)
    try:
        return Table(
            prefill_tokens=tuple(tokens),
            prefill_s=tuple(prefill[n] for n in tokens),
            decode_context_tokens=tuple(sums),
            mean_context_tokens=tuple(means),
            decode_s=tuple(tuple(decode[total, mean] for mean in means) for total in sums),
            outside=outside,
        )
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _number(row: dict[str, str], name: str, where: str) -> float:
    try:
        return float(row[name])
    except ValueError:
        raise ConfigError(f"{where}: {name}: {checks.shown(row[name])} is not a number") from None
