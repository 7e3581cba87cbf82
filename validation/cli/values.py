"""From the words of a command line to values; a wrong word is answered with what would be right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import shown_name

__all__ = ["check_inside", "choice", "file_name", "number_list", "rate_grid", "reader", "word_list"]

_UNITS = {
    "_rps": "requests per second",
    "_frac": "a share between 0 and 1",
    "_tokens": "a number of tokens",
    "_tps": "tokens per second",
    "_s": "seconds",
}
_MOST_RATES = 1000


class _Token(Protocol):
    value: str


Reader = Callable[[Any, Sequence[_Token]], Any]


def _ascii(text: str) -> str:
    """The text, if a number in it is written with the digits 0 to 9."""
    if not text.isascii():
        raise ValueError(text)
    return text


def _whole(text: str, unit: str) -> int:
    try:
        number = Decimal(_ascii(text).replace("_", ""))
    except (InvalidOperation, ValueError):
        raise ConfigError(f"{text!r} is not a whole number{unit}") from None
    if not number.is_finite() or number != number.to_integral_value():
        raise ConfigError(f"{text!r} is not a whole number{unit}")
    if abs(number) > 10**18:
        raise ConfigError(f"{text!r} is too large; at most 10^18")
    return int(number)


def _number(text: str, unit: str) -> float:
    try:
        return float(_ascii(text))
    except ValueError:
        raise ConfigError(f"{text!r} is not a number{unit}") from None


def _text(text: str, unit: str) -> str:
    if not text.strip():
        raise ConfigError(f"{text!r} is empty; give a value, or leave the flag out{unit}")
    return text


def file_name(_: Any, tokens: Sequence[_Token]) -> str:
    """The word behind a flag, if it can be the name of a file.

    Raises
    ------
    ConfigError
        If it is empty or ends like the name of a folder.

    Examples
    --------
    >>> from types import SimpleNamespace as Token
    >>> file_name(str, [Token(value="runs/")])
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: runs/: is the name of a folder; give that of a file
    """
    text = _text(tokens[0].value, "")
    if text.endswith(("/", "\\", "/.", "/..")) or text in (".", ".."):
        raise ConfigError(f"{shown_name(text)}: is the name of a folder; give that of a file")
    return text


def reader(name: str, kind: type) -> Reader:
    """What turns the word behind the flag of a field into an int, a float or a str.

    Parameters
    ----------
    name : str
        Field name; its unit goes into the error message.
    kind : type
        int, float or str.

    Raises
    ------
    ConfigError
        When called with a word that is not of the kind.

    Examples
    --------
    >>> from types import SimpleNamespace as Token
    >>> reader("duration_s", float)(float, [Token(value="10s")])
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: '10s' is not a number; give seconds
    """
    end = next((end for end in _UNITS if name.endswith(end)), "")
    unit = f"; give {_UNITS[end]}" if end and kind is not str else ""
    convert: Callable[[str, str], Any] = {int: _whole, float: _number}.get(kind, _text)
    return lambda _, tokens: convert(tokens[0].value, unit)


def choice(*allowed: str) -> Reader:
    """What takes one of a few words.

    Parameters
    ----------
    *allowed : str
        The words.

    Raises
    ------
    ConfigError
        When called with any other word.

    Examples
    --------
    >>> from types import SimpleNamespace as Token
    >>> choice("table", "json")(str, [Token(value="tabel")])
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: unknown 'tabel' (did you mean 'table'?); one of table, json
    """

    def read(_: Any, tokens: Sequence[_Token]) -> str:
        word = tokens[0].value
        if word not in allowed:
            raise ConfigError(f"unknown {word!r}{checks.nearest(word, allowed)}; one of {', '.join(allowed)}")
        return word

    return read


def check_inside(flag: str, share: float, example: float) -> None:
    """Refuse a share that asks for nothing, or for everything.

    Parameters
    ----------
    flag : str
        Name for error messages.
    share : float
        Must be in (0, 1).
    example : float
        One that is right.

    Raises
    ------
    ConfigError
        If it is anything else.

    Examples
    --------
    >>> check_inside("--goodput-frac", 90, 0.9)
    Traceback (most recent call last):
        ...
    qtheory.basics.errors.ConfigError: --goodput-frac: 90 must lie between 0 and 1, such as 0.9
    """
    if not 0 < share < 1:
        raise ConfigError(f"{flag}: {share:g} must lie between 0 and 1, such as {example:g}")


def word_list(flag: str, text: str) -> list[str]:
    """The words of a list separated by commas, none empty, none twice.

    Parameters
    ----------
    flag : str
        Name for error messages.
    text : str
        As in ``fcfs,chunked``; a comma inside brackets does not separate.

    Raises
    ------
    ConfigError
        If the list or one of its words is empty, or a word comes twice.

    Examples
    --------
    >>> word_list("--schedulers", "fcfs, fair(prompt_weight=1, client_weights=[1, 2])")
    ['fcfs', 'fair(prompt_weight=1, client_weights=[1, 2])']
    """
    words = _outside_brackets(text)
    if not all(words):
        raise ConfigError(f"{flag}: {text!r} has an empty entry; separate entries by single commas")
    twice = next((word for i, word in enumerate(words) if word in words[:i]), None)
    if twice is not None:
        raise ConfigError(f"{flag}: {twice!r} comes twice in {text!r}; give each once")
    return words


def _outside_brackets(text: str) -> list[str]:
    """The parts between commas that stand in no bracket."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


def number_list(flag: str, text: str) -> list[float]:
    """The numbers of a list separated by commas, each finite and above zero, in increasing order.

    Parameters
    ----------
    flag : str
        Name for error messages.
    text : str
        As in ``2,4,8``.

    Raises
    ------
    ConfigError
        If the list is empty, or an entry is not a number above zero or comes twice.

    Examples
    --------
    >>> number_list("--rates", "4,2,8")
    [2.0, 4.0, 8.0]
    """
    numbers = []
    for word in word_list(flag, text):
        try:
            number = float(_ascii(word))
        except ValueError:
            raise ConfigError(f"{flag}: {word!r} is not a number; as in 2,4,8") from None
        checks.positive(**{flag: number})
        if number in numbers:
            raise ConfigError(f"{flag}: {number:g} comes twice in {text!r}; give each once")
        numbers.append(number)
    return sorted(numbers)


def rate_grid(
    rates: str | None, min_rate: float | None, max_rate: float | None, step: float | None
) -> list[float]:
    """Rates to try: a list, or from the least in equal steps up to the largest; empty if nothing is given.

    Parameters
    ----------
    rates : str or None
        As in ``2,4,8``, requests per second.
    min_rate, max_rate, step : float or None
        Requests per second, > 0; ``max_rate`` is tried if a whole number of steps leads to it.

    Raises
    ------
    ConfigError
        If both are given, or the numbers make no grid.

    Examples
    --------
    >>> rate_grid(None, 2, 18, 4)
    [2.0, 6.0, 10.0, 14.0, 18.0]
    """
    grid = {"--min-rate": min_rate, "--max-rate": max_rate, "--step": step}
    given = [flag for flag, value in grid.items() if value is not None]
    if rates is not None:
        if given:
            raise ConfigError(f"--rates: cannot be combined with {given[0]}; give one or the other")
        listed = number_list("--rates", rates)
        if len(listed) > _MOST_RATES:
            raise ConfigError(f"--rates: {len(listed)} rates; at most {_MOST_RATES}")
        return listed
    if not given:
        return []
    missing = [flag for flag, value in grid.items() if value is None]
    if min_rate is None or max_rate is None or step is None:
        raise ConfigError(f"{missing[0]}: missing; give --rates 2,4,8 or --min-rate 2 --max-rate 18 --step 4")
    checks.positive(**{"--min-rate": min_rate, "--max-rate": max_rate, "--step": step})
    if max_rate < min_rate:
        raise ConfigError(f"--max-rate: {max_rate:g} is below --min-rate {min_rate:g}; exchange them")
    span = (max_rate - min_rate) / step + 1e-9
    if span >= _MOST_RATES:
        raise ConfigError(f"--step: {step:g} makes {span + 1:.6g} rates; at most {_MOST_RATES}")
    n_steps = math.floor(span)
    return [round(float(min_rate) + index * step, 12) for index in range(n_steps + 1)]
