"""Range checks that raise `ConfigError` with the name, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import SupportsFloat

from .errors import ConfigError

__all__ = ["at_least", "fraction", "integer", "nearest", "non_negative", "one_of", "positive"]


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Text `` (did you mean 'x'?)`` for the allowed spelling closest to ``word``, or an empty string.

    Examples
    --------
    >>> nearest("chuncked", ["fcfs", "chunked"])
    " (did you mean 'chunked'?)"
    >>> nearest("rate", ["trace", "rate_rps"])
    " (did you mean 'rate_rps'?)"
    >>> nearest("zzz", ["fcfs", "chunked"])
    ''
    """
    folded = {name.lower().replace("-", "_"): name for name in allowed}
    plain = word.lower().replace("-", "_")
    begun = [name for name in folded if plain and name.startswith(f"{plain}_")]
    found = sorted(begun, key=len)[:1] or get_close_matches(plain, folded, n=1, cutoff=0.5)
    return f" (did you mean '{folded[found[0]]}'?)" if found else ""


def _number(name: str, value: object, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name}: {value!r} is not a number; {wanted}")
    try:
        number = float(value)
    except OverflowError:
        raise ConfigError(f"{name}: {str(value)[:12]}... is too large; {wanted}") from None
    if math.isnan(number) or math.isinf(number):
        raise ConfigError(f"{name}: {number:g} is not a finite number; {wanted}")
    return number


def positive(**values: SupportsFloat) -> None:
    """Raise `ConfigError` unless every value is a finite number above zero."""
    for name, value in values.items():
        if _number(name, value, "give a number > 0") <= 0:
            raise ConfigError(f"{name}: {value} must be > 0")


def non_negative(**values: SupportsFloat) -> None:
    """Raise `ConfigError` unless every value is a finite number, zero or above."""
    for name, value in values.items():
        if _number(name, value, "give a number >= 0") < 0:
            raise ConfigError(f"{name}: {value} must be >= 0")


def fraction(**values: SupportsFloat) -> None:
    """Raise `ConfigError` unless every value lies in (0, 1]."""
    for name, value in values.items():
        if not 0 < _number(name, value, "give a share above 0 and at most 1") <= 1:
            raise ConfigError(f"{name}: {value} must be above 0 and at most 1")


def integer(**values: SupportsFloat) -> None:
    """Raise `ConfigError` unless every value is a whole number above zero."""
    at_least(1, **values)


def at_least(least: int, /, **values: SupportsFloat) -> None:
    """Raise `ConfigError` unless every value is a whole number, ``least`` or above."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ConfigError(f"{name}: {value!r} must be a whole number >= {least}")
        if int(value) < least:
            raise ConfigError(f"{name}: {value} must be a whole number >= {least}")


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """Raise `ConfigError`, with the nearest spelling, unless ``value`` is one of ``allowed``."""
    names = list(allowed)
    if value not in names:
        raise ConfigError(f"{name}: unknown {value!r}{nearest(str(value), names)}; one of {', '.join(names)}")
