"""Names of quantities: percentiles, variances and tails of laws, of one class or station."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = [
    "NUMBER",
    "PART",
    "PERCENTILE",
    "TAIL",
    "bare",
    "percentile_head",
    "percentile_name",
    "variance_name",
]

PERCENTILE = re.compile(r"p(?P<level>\d+(?:\.\d+)?)_(?P<what>\w+)")
TAIL = re.compile(r"tail_(?P<what>\w+?)\((?P<time>[^()]*)\)(?P<rest>\w*)")
NUMBER = re.compile(r"number(_class\d+)?")
PART = re.compile(r"(?P<name>\w+)_(?P<part>class|station)(?P<which>\d+)")


def percentile_head(level: float) -> str:
    """What stands for a percentile in a table: all its digits, and no exponent.

    Parameters
    ----------
    level : float
        In per cent, between 0 and 100.

    Examples
    --------
    >>> percentile_head(99.0), percentile_head(99.99999), percentile_head(1e-7)
    ('p99', 'p99.99999', 'p0.0000001')
    """
    return f"p{Decimal(repr(float(level))).normalize():f}"


def percentile_name(level: float, what: str) -> str:
    """Name of a percentile.

    Parameters
    ----------
    level : float
        In per cent, between 0 and 100.
    what : str
        ``wait``, ``response``, ``number`` or another law of the result.

    Examples
    --------
    >>> percentile_name(99, "wait"), percentile_name(99.9, "number")
    ('p99_wait_s', 'p99.9_number')
    """
    return f"{percentile_head(level)}_{_with_unit(what, '' if NUMBER.fullmatch(what) else '_s')}"


def variance_name(what: str) -> str:
    """Name of a variance.

    Parameters
    ----------
    what : str
        As for `percentile_name`.

    Examples
    --------
    >>> variance_name("wait"), variance_name("wait_class1"), variance_name("number")
    ('var_wait_s2', 'var_wait_s2_class1', 'var_number')
    """
    return f"var_{_with_unit(what, '' if NUMBER.fullmatch(what) else '_s2')}"


def _with_unit(what: str, unit: str) -> str:
    """The unit behind the quantity and before its class: ``wait_s_class1``."""
    part = PART.fullmatch(what)
    return f"{what}{unit}" if part is None else f"{part['name']}{unit}_{part['part']}{part['which']}"


def bare(what: str) -> str:
    """The name of a law, without the unit.

    Parameters
    ----------
    what : str
        With or without a unit and a class.

    Examples
    --------
    >>> bare("wait_s_class1"), bare("wait_class1_s"), bare("response")
    ('wait_class1', 'wait_class1', 'response')
    """
    part = PART.fullmatch(re.sub(r"_s2?$", "", what))
    if part is None:
        return re.sub(r"_s2?$", "", what)
    name = re.sub(r"_s2?$", "", part["name"])
    return f"{name}_{part['part']}{part['which']}"
