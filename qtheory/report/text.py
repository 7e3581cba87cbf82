"""Aligned text: tables of rows and blocks of labelled values, with units from the names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

from qtheory.basics.units import format_value, label

__all__ = ["folded", "human", "pairs", "table", "unit_of", "with_limits", "words_of"]

_MOST_DIGITS = 6  # of a value with limits: narrower ones are the noise of rounding
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_PREFIXES = {
    "s": ((1.0, ""), (1e-3, "m"), (1e-6, "u")),
    "B": _LARGE,
    "B/s": _LARGE,
    "FLOP": _LARGE,
    "FLOP/s": _LARGE,
}


def _format(name: str, value: object) -> str:
    """Text of a value; the arrival rate of a closed loop, which has none, is said in words."""
    if name == "rate_rps" and value in (math.inf, "inf"):
        return "closed loop"
    return format_value(name, value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _columns(rows: Sequence[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def table(
    rows: Sequence[Mapping[str, object]],
    columns: Iterable[str] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Rows as aligned text under one header line; numbers to the right, words to the left.

    Values that have limits in their row are shown with half their width (see `with_limits`).

    Parameters
    ----------
    rows : sequence of mappings
        A row each, from field name to value; a name that a row lacks shows as ``-``.
    columns : iterable of str, optional
        Field names to show, in order (default: all, in order of appearance). Names that no row has are
        left out.
    labels : mapping, optional
        Header texts that replace those made from the field names.

    Returns
    -------
    str
        Lines without trailing blanks; an empty string if there are no rows or no columns.

    Examples
    --------
    >>> rows = [{"scheduler": "fcfs", "p99_tpot_s": 0.4478}, {"scheduler": "chunked", "p99_tpot_s": 0.053}]
    >>> print(table(rows))
    scheduler  p99 TPOT (s)
    fcfs             0.4478
    chunked           0.053
    """
    present = _columns(rows)
    shown = [name for name in (present if columns is None else columns) if name in present]
    lines: list[list[str]] = [[(labels or {}).get(name, label(name)) for name in shown]]
    lines += [[with_limits(row, name) for name in shown] for row in rows]
    if not rows or not shown:
        return ""
    right = [any(_is_number(row.get(name)) for row in rows) for name in shown]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def with_limits(row: Mapping[str, object], name: str) -> str:
    """Text of a field with half the distance of its confidence limits behind ``±``, where the row has them.

    Parameters
    ----------
    row : mapping
        Limits stand under the name with ``_low`` and ``_high``; names in its list ``unreliable`` get a ``~``.
    name : str
        Field name, which says the unit.

    Returns
    -------
    str
        Decimals as the width deserves: two digits of it that begin with 1 or 2, one of others. A share that
        would reach beyond 0 or 100 % has a distance to each side.

    Examples
    --------
    >>> share = {"goodput_frac": 0.98, "goodput_frac_low": 0.9, "goodput_frac_high": 0.995}
    >>> with_limits(share, "goodput_frac")
    '98 +2/-8'
    >>> row = {"mean_ttft_s": 0.16712, "mean_ttft_s_low": 0.1635, "mean_ttft_s_high": 0.1714}
    >>> with_limits(row, "mean_ttft_s"), with_limits({**row, "unreliable": ["mean_ttft_s"]}, "mean_ttft_s")
    ('0.167 ±0.004', '~0.167 ±0.004')
    """
    value, low, high = row.get(name), row.get(f"{name}_low"), row.get(f"{name}_high")
    unreliable = row.get("unreliable")
    mark = "~" if isinstance(unreliable, list | tuple) and name in unreliable else ""
    numbers = [float(each) for each in (value, low, high) if isinstance(each, int | float)]
    if len(numbers) < 3 or not all(map(math.isfinite, numbers)):
        return mark + _format(name, value)
    scale = 100.0 if name.endswith("_frac") else 1.0
    middle, half = scale * numbers[0], scale * (numbers[2] - numbers[1]) / 2
    decimals = _decimals(middle, half)
    if scale > 1 and numbers[1] >= 0 and numbers[2] <= 1 and not half <= middle <= scale - half:
        up, down = (scale * abs(numbers[end] - numbers[0]) for end in (2, 1))
        return f"{mark}{middle:.{decimals}f} +{_short(up, decimals)}/-{_short(down, decimals)}"
    return f"{mark}{middle:.{decimals}f} ±{_short(half, decimals)}"


def _short(distance: float, decimals: int) -> str:
    """A distance in the decimals of its value, a zero without any."""
    text = f"{distance:.{decimals}f}"
    return text if float(text) else "0"


def _decimals(value: float, half: float) -> int:
    """Decimals of a value whose limits are ``half`` away."""
    finest = _MOST_DIGITS - 1 - (math.floor(math.log10(abs(value))) if value else 0)
    if half <= 0:
        return max(min(finest, 4), 0)
    exponent = math.floor(math.log10(half))
    digits = 2 if half / 10.0**exponent < 2.95 else 1
    return max(min(digits - 1 - exponent, finest), 0)


def unit_of(name: str) -> str:
    """The unit that a field name says, empty without one.

    Examples
    --------
    >>> unit_of("p99_ttft_s"), unit_of("n_requests")
    ('s', '')
    """
    return label(name)[len(words_of(name)) :].strip(" ()")


def human(name: str, value: object) -> str:
    """Text of a value with its unit, the unit scaled so that the number is short.

    Parameters
    ----------
    name : str
        Field name, which says the unit.
    value : object
        Number, text, bool or None.

    Returns
    -------
    str

    Examples
    --------
    >>> human("memory_bytes", 80e9), human("step_s", 0.0123), human("mfu_frac", 0.7), human("rate_rps", 4.0)
    ('80 GB', '12.3 ms', '70.0 %', '4 req/s')
    """
    unit = unit_of(name).replace("bytes", "B")
    if not unit or not _is_number(value) or not math.isfinite(value):  # type: ignore[arg-type]
        return _format(name, value)
    number = float(value)  # type: ignore[arg-type]
    for per, prefix in _PREFIXES.get(unit, ()):
        if abs(number) >= per:
            return f"{number / per:.4g} {prefix}{unit}"
    return f"{format_value(name, value)} {unit}"


def words_of(name: str) -> str:
    """The words of a field name, without its unit.

    Examples
    --------
    >>> words_of("p99_ttft_s")
    'p99 TTFT'
    """
    return label(name).partition(" (")[0]


def pairs(
    values: Mapping[str, object],
    *,
    labels: Mapping[str, str] | None = None,
    most_letters: int | None = None,
) -> str:
    """One quantity a line: its words, then its value with the unit.

    Parameters
    ----------
    values : mapping
        From field name to value.
    labels : mapping, optional
        Words that replace those made from the field names.
    most_letters : int, optional
        Of a line; what is longer goes on below, under the value (default: no bound).

    Returns
    -------
    str
        Aligned lines.

    Examples
    --------
    >>> print(pairs({"hardware": "rtx3050", "kv_blocks": 15000, "goodput_frac": 0.98, "p99_ttft_s": 0.25}))
    hardware    rtx3050
    KV blocks   15,000
    goodput     98.0 %
    p99 TTFT    250 ms
    >>> print(pairs({"load": "chat at 4 req/s", "binds": "slots"}, most_letters=20))
    load    chat at 4
            req/s
    binds   slots
    """
    lines = [((labels or {}).get(name, words_of(name)), human(name, value)) for name, value in values.items()]
    width = max((len(text) for text, _ in lines), default=0)
    if most_letters is None:
        return "\n".join(f"{text:<{width}}   {shown}".rstrip() for text, shown in lines)
    return "\n".join(folded(f"{text:<{width}}   {shown}", most_letters, width + 3) for text, shown in lines)


def folded(line: str, most_letters: int, indent: int) -> str:
    """A line in several where it is too long: broken between words, the others moved to the right.

    Parameters
    ----------
    line : str
    most_letters : int
        Of a line, > ``indent``; a word that is longer stays whole.
    indent : int
        Blanks before each line but the first.

    Examples
    --------
    >>> print(folded("fcfs: KV memory is what runs out", 20, 2))
    fcfs: KV memory is
      what runs out
    """
    return fill(
        line,
        most_letters,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
