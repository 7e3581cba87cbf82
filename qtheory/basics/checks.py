"""Checks of values that raise `ConfigError` with the name, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from numbers import Integral, Real
from typing import SupportsFloat

from .errors import ConfigError

__all__ = [
    "at_least",
    "fraction",
    "inner_fraction",
    "integer",
    "nearest",
    "non_negative",
    "one_of",
    "positive",
    "shown",
    "text",
]


_MOST_DIGITS = 21  # a whole number of more is written in powers of ten


def nearest(word: str, allowed: Iterable[str], *, cutoff: float = 0.5) -> str:
    """Text `` (did you mean 'x'?)`` for the allowed spelling closest to ``word``, or an empty string.

    Parameters
    ----------
    word : str
        As given; case and dashes do not matter.
    allowed : iterable of str
        Right spellings.
    cutoff : float
        How alike two words must be, 0 .. 1.

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
    found = sorted(begun, key=len)[:1] or get_close_matches(plain, folded, n=1, cutoff=cutoff)
    return f" (did you mean '{folded[found[0]]}'?)" if found else ""


def shown(value: object) -> str:
    """Text of any value for a message: on one line, at most 60 characters.

    Parameters
    ----------
    value : object
        Anything that came from outside.

    Examples
    --------
    >>> shown(2.0), shown("GB"), shown(10**300), len(shown([1] * 1000))
    ('2', "'GB'", '1e+300', 60)
    """
    if isinstance(value, float):
        return f"{value:g}"
    try:
        words = _digits(value) if type(value) is int else repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or with a number of thousands of digits inside
        words = f"a value of type {type(value).__name__}"
    return words if len(words) <= 60 else f"{words[:57]}..."


def _digits(value: int) -> str:
    if abs(value) < 10**_MOST_DIGITS:
        return str(value)
    return f"{Decimal(value).normalize():.6g}".replace(".00000e", "e")


def _said(value: object) -> str:
    """A number as it was written, as long as that is short; anything else as `shown`."""
    return str(value) if isinstance(value, Real) and not isinstance(value, Integral | bool) else shown(value)


def _number(name: str, value: object, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name}: {shown(value)} is not a number; {wanted}")
    try:
        number = float(value)
    except OverflowError:
        raise ConfigError(f"{name}: {shown(value)} is too large; {wanted}") from None
    if math.isnan(number) or math.isinf(number):
        raise ConfigError(f"{name}: {number:g} is not a finite number; {wanted}")
    return number


def positive(**values: SupportsFloat) -> None:
    """Let finite numbers above zero pass.

    Parameters
    ----------
    **values : float
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a finite number or not above zero.

    Examples
    --------
    >>> positive(rate_rps=2.5)
    >>> positive(rate_rps=0)
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: rate_rps: 0 must be > 0
    """
    for name, value in values.items():
        if _number(name, value, "give a number > 0") <= 0:
            raise ConfigError(f"{name}: {_said(value)} must be > 0")


def non_negative(**values: SupportsFloat) -> None:
    """Let finite numbers from zero on pass.

    Parameters
    ----------
    **values : float
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a finite number or below zero.

    Examples
    --------
    >>> non_negative(think_s=0.0)
    """
    for name, value in values.items():
        if _number(name, value, "give a number >= 0") < 0:
            raise ConfigError(f"{name}: {_said(value)} must be >= 0")


def fraction(**values: SupportsFloat) -> None:
    """Let shares above 0 and up to 1 pass.

    Parameters
    ----------
    **values : float
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a number in (0, 1].

    Examples
    --------
    >>> fraction(memory_frac=0.9)
    >>> fraction(memory_frac=90)
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: memory_frac: 90 must be above 0 and at most 1
    """
    for name, value in values.items():
        if not 0 < _number(name, value, "give a share above 0 and at most 1") <= 1:
            raise ConfigError(f"{name}: {_said(value)} must be above 0 and at most 1")


def inner_fraction(**values: SupportsFloat) -> None:
    """Let shares between 0 and 1 pass, both left out.

    Parameters
    ----------
    **values : float
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a number in (0, 1).

    Examples
    --------
    >>> inner_fraction(level=0.95)
    """
    for name, value in values.items():
        if not 0 < _number(name, value, "give a share between 0 and 1") < 1:
            raise ConfigError(f"{name}: {_said(value)} must lie between 0 and 1, both left out")


def integer(**values: SupportsFloat) -> None:
    """Let whole numbers above zero pass.

    Parameters
    ----------
    **values : int
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a whole number or not above zero.

    Examples
    --------
    >>> integer(max_seqs=128)
    """
    at_least(1, **values)


def at_least(least: int, /, **values: SupportsFloat) -> None:
    """Let whole numbers from ``least`` on pass.

    Parameters
    ----------
    least : int
        The smallest that is allowed.
    **values : int
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is not a whole number or below ``least``.

    Examples
    --------
    >>> at_least(0, client_cap=0)
    >>> at_least(2, n_runs=1.0)
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: n_runs: 1.0 must be a whole number >= 2
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ConfigError(f"{name}: {_said(value)} must be a whole number >= {least}")
        if int(value) < least:
            raise ConfigError(f"{name}: {_said(value)} must be a whole number >= {least}")


def text(name: str, value: object) -> None:
    """Let text pass.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        What was given.

    Raises
    ------
    ConfigError
        If it is anything else.

    Examples
    --------
    >>> text("source", "data sheet")
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name}: {shown(value)} is not text; put it in quotes")


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """Let a word pass that is one of ``allowed``.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : str
        What was given.
    allowed : iterable of str
        Right spellings.

    Raises
    ------
    ConfigError
        If it is another, with the nearest right spelling.

    Examples
    --------
    >>> one_of("victim", "last_admitted", ["last_admitted", "fewest_output"])
    """
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        hint = nearest(value, names) if isinstance(value, str) else ""
        raise ConfigError(f"{name}: unknown {shown(value)}{hint}; one of {', '.join(names)}")
