"""Units live in names: how a field name is turned into a label and its value into text."""

from __future__ import annotations

import math

__all__ = ["format_value", "label", "percent"]

_SUFFIXES = {
    "_s": "s",
    "_rps": "req/s",
    "_tps": "tokens/s",
    "_tokens": "tokens",
    "_bytes": "bytes",
    "_bytes_per_s": "bytes/s",
    "_flops": "FLOP",
    "_flops_per_s": "FLOP/s",
    "_frac": "%",
    "_w": "W",
    "_usd": "$",
}
_ACRONYMS = {"ttft", "tpot", "itl", "e2e", "kv", "slo", "mfu", "mbu"}


def _suffix(name: str) -> str:
    fits = [end for end in _SUFFIXES if name.endswith(end)]
    return max(fits, key=len) if fits else ""


def label(name: str) -> str:
    """Words and unit for a field name.

    Parameters
    ----------
    name : str
        Of a result or scenario, its unit at the end.

    Examples
    --------
    >>> label("p99_ttft_s")
    'p99 TTFT (s)'
    >>> label("goodput_frac")
    'goodput (%)'
    """
    end = _suffix(name)
    words = name[: len(name) - len(end)].split("_")
    text = " ".join(word.upper() if word in _ACRONYMS else word for word in words if word != "n")
    return f"{text} ({_SUFFIXES[end]})" if end else text


def format_value(name: str, value: object) -> str:
    """Text for the value of a field: three or four significant digits, shares in per cent, ``-`` for none.

    Parameters
    ----------
    name : str
        Of the field.
    value : object
        In the unit of the name; anything but a number is printed as it is.

    Examples
    --------
    >>> format_value("goodput_frac", 0.98765), format_value("mean_ttft_s", 0.0123456)
    ('98.8', '0.01235')
    """
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        return "-"
    if name.endswith("_frac"):
        return f"{100 * value:z.1f}"  # never -0.0
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return f"{value:.4g}"


def percent(share: float) -> str:
    """A share in per cent with all its digits, so that one just below 1 is not told as 100 %.

    Parameters
    ----------
    share : float
        Such as the level of an interval, in [0, 1].

    Examples
    --------
    >>> percent(0.95), percent(0.999999999)
    ('95 %', '99.9999999 %')
    """
    return f"{100 * share:.15g} %"
