"""Reading a case: keys, numbers, token sequences; and comparing what was expected with what came out."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most

__all__ = [
    "MOST",
    "TOLERANCE",
    "count",
    "differences",
    "number",
    "numbers",
    "only_keys",
    "table",
    "tokens",
    "want",
]

MOST = 1_000_000
"""Tokens of a text and blocks of a memory at most; a case is small, and a larger number in it a slip."""

TOLERANCE = 1e-6
"""Numbers count as equal within this, absolute or relative."""

_TYPES = {dict: "a table", list: "a list", str: "a text", bool: "true or false", int: "a whole number"}


def only_keys(where: str, given: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Raise `ConfigError` if ``given`` has a key that is not allowed."""
    names = list(allowed)
    for key in given:
        if key not in names:
            raise ConfigError(f"{where}: unknown key {checks.shown(key)}{checks.nearest(key, names)}")


def want(where: str, given: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    """The value of ``key``, checked for its type; the default if it is missing and there is one."""
    if key not in given:
        if default is not None:
            return default
        raise ConfigError(f"{where}: key {checks.shown(key)} is missing")
    value = given[key]
    is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not is_right:
        raise ConfigError(f"{where}.{key}: {checks.shown(value)} is not {_TYPES[kind]}")
    return value


def count(where: str, given: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """The value of ``key`` as a number of tokens or blocks; a million is more than any case needs."""
    value: int = want(where, given, key, int, default)
    at_most(MOST, **{f"{where}.{key}": value})
    return value


def numbers(where: str, given: Mapping[str, Any], key: str) -> list[float]:
    """The value of ``key`` as a list of finite numbers."""
    values = want(where, given, key, list)
    return [number(f"{where}.{key}", {str(i): value}, str(i)) for i, value in enumerate(values)]


def number(where: str, given: Mapping[str, Any], key: str, default: float | None = None) -> float:
    """The value of ``key`` as a finite number."""
    value = given.get(key, default)
    if value is None:
        raise ConfigError(f"{where}: key {checks.shown(key)} is missing")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:  # also refuses NaN and infinity
        raise ConfigError(f"{where}.{key}: {checks.shown(value)} is not a finite number")
    return float(value)


def table(where: str, given: object) -> dict[str, Any]:
    """``given`` if it is a table."""
    if not isinstance(given, dict):
        raise ConfigError(f"{where}: {checks.shown(given)} is not a table")
    return given


def tokens(where: str, segments: object) -> list[int]:
    """A token sequence from its segments: ``seq`` [first, n], ``rep`` [token, n], ``tokens`` [...].

    Examples
    --------
    >>> tokens("prompt", [{"seq": [5, 2]}, {"rep": [0, 2]}, {"tokens": [9]}])
    [5, 6, 0, 0, 9]
    """
    if not isinstance(segments, list):
        raise ConfigError(f"{where}: {checks.shown(segments)} is not a list of segments")
    text: list[int] = []
    for segment in segments:
        if not isinstance(segment, dict) or len(segment) != 1:
            raise ConfigError(f"{where}: {checks.shown(segment)} is not a segment; give seq, rep or tokens")
        ((kind, value),) = segment.items()
        checks.one_of(where, kind, ("seq", "rep", "tokens"))
        is_whole = isinstance(value, list) and all(type(item) is int for item in value)
        if not is_whole or (kind != "tokens" and (len(value) != 2 or value[1] < 0)):
            raise ConfigError(
                f"{where}.{kind}: {checks.shown(value)} is not a list of whole numbers of the right length"
            )
        if kind == "tokens":
            text += value
        else:
            at_most(MOST - len(text), **{f"{where}.{kind}": value[1]})
            text += range(value[0], value[0] + value[1]) if kind == "seq" else [value[0]] * value[1]
    return text


def differences(where: str, expected: object, actual: object) -> list[str]:
    """What differs, one text a place; only the keys that are expected are looked at.

    Examples
    --------
    >>> differences("x", {"a": 1.0, "b": [2]}, {"a": 1.0000001, "b": [3], "c": 0})
    ['x.b[0]: expected 2, got 3']
    """
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping):
            return [_say(where, expected, actual)]
        found = []
        for key, value in expected.items():
            if key in actual:
                found += differences(f"{where}.{key}", value, actual[key])
            elif value is not None:
                found.append(f"{where}.{key}: expected {value}, but there is none")
        return found
    if isinstance(expected, list | tuple):
        if not isinstance(actual, Sequence) or isinstance(actual, str) or len(actual) != len(expected):
            return [_say(where, expected, actual)]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [line for i, (left, right) in pairs for line in differences(f"{where}[{i}]", left, right)]
    return [] if _same(expected, actual) else [_say(where, expected, actual)]


def _same(expected: object, actual: object) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return math.isclose(expected, actual, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return expected == actual


def _say(where: str, expected: object, actual: object) -> str:
    return f"{where}: expected {expected}, got {actual}"
