"""Checks of values that have a smallest and a largest believable size, as in files that people write."""

from __future__ import annotations

from numbers import Integral, Real

from .checks import shown
from .errors import ConfigError

__all__ = ["at_most", "number_between", "whole_between"]


def at_most(most: float, /, **values: float) -> None:
    """Let numbers up to ``most`` pass; that they are numbers is checked elsewhere.

    Parameters
    ----------
    most : float
        The largest that is allowed.
    **values : float
        Each under the name that the message is to have.

    Raises
    ------
    ConfigError
        If one is larger.

    Examples
    --------
    >>> at_most(10**9, kv_blocks=10**9)
    >>> at_most(10**9, kv_blocks=10**30)
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: kv_blocks: 1e+30 is too large; at most 1,000,000,000
    """
    for name, value in values.items():
        if not value <= most:
            limit = f"{most:,}" if isinstance(most, int) else f"{most:g}"
            raise ConfigError(f"{name}: {shown(value)} is too large; at most {limit}")


def whole_between(name: str, value: object, least: int, most: int) -> None:
    """Let a whole number in ``least`` .. ``most`` pass.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        What was given.
    least, most : int
        Both allowed.

    Raises
    ------
    ConfigError
        If it is not a whole number or outside.

    Examples
    --------
    >>> whole_between("tp", 8, 1, 100_000)
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigError(f"{name}: {shown(value)} is not a whole number; give one in {least:,} .. {most:,}")
    if not least <= int(value) <= most:
        raise ConfigError(f"{name}: {shown(value)} is outside what is allowed, {least:,} .. {most:,}")


def number_between(name: str, value: object, least: float, most: float) -> None:
    """Let a number in ``least`` .. ``most`` pass.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        What was given.
    least, most : float
        Both allowed, finite.

    Raises
    ------
    ConfigError
        If it is not a finite number or outside.

    Examples
    --------
    >>> number_between("mfu_frac", 0.7, 0.001, 1.0)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name}: {shown(value)} is not a number; give one in {least:g} .. {most:g}")
    number = value if isinstance(value, int) else float(value)  # whole numbers of any size compare exactly
    if not least <= number <= most:  # also refuses NaN and infinity
        raise ConfigError(f"{name}: {shown(value)} is outside what is allowed, {least:g} .. {most:g}")
