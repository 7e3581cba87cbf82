"""Reading values of a settings file: a fault is told in one line, with the place and what is allowed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["at_least_one", "file_in", "listed", "number", "numbers", "only_keys", "table", "taken", "word"]


def only_keys(where: str, given: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Raise `ConfigError` if ``given`` has a key that is not allowed."""
    names = list(allowed)
    for key in given:
        if key not in names:
            near = checks.nearest(key, names) or f"; the keys are {', '.join(names)}"
            raise ConfigError(f"{where}: unknown key {checks.shown(key)}{near}")


def taken(where: str, given: Mapping[str, Any], key: str) -> Any:
    """The value of a key that must be there."""
    if key not in given:
        raise ConfigError(f"{where}: key {checks.shown(key)} is missing")
    return given[key]


def table(where: str, given: object) -> dict[str, Any]:
    """``given`` if it is a table."""
    if not isinstance(given, dict):
        raise ConfigError(f"{where}: {checks.shown(given)} is not a table of keys and values")
    return given


def listed(where: str, given: object) -> Sequence[Any]:
    """``given`` if it is a list that is not empty."""
    if not isinstance(given, list) or not given:
        raise ConfigError(f"{where}: {checks.shown(given)} is not a list of at least one entry")
    return given


def word(where: str, given: object, allowed: Iterable[str]) -> str:
    """``given`` if it is one of the words."""
    words = list(allowed)
    if not isinstance(given, str):
        raise ConfigError(f"{where}: {checks.shown(given)} is not a word; one of {', '.join(words)}")
    checks.one_of(where, given, words)
    return given


def at_least_one(where: str, given: object) -> int:
    """``given`` if it is a whole number of at least one."""
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= 10**9:
        raise ConfigError(f"{where}: {checks.shown(given)} is not a whole number of 1 .. 10^9")
    return given


def number(where: str, given: object, *, least: float = -sys.float_info.max) -> float:
    """``given`` if it is a finite number of at least ``least``."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not least <= given <= sys.float_info.max:  # type: ignore[operator]
        bound = "" if least < -1 else f" of at least {least:g}"
        raise ConfigError(f"{where}: {checks.shown(given)} is not a number{bound}")
    return float(given)  # type: ignore[arg-type]


def numbers(where: str, given: object) -> list[float]:
    """``given`` if it is a list of numbers."""
    return [number(f"{where}[{i}]", value) for i, value in enumerate(listed(where, given))]


def file_in(where: str, folder: Path, given: object) -> Path:
    """The path of a file named in the settings, which stands beside them."""
    if not isinstance(given, str) or not given or Path(given).name != given or given in (".", ".."):
        raise ConfigError(f"{where}: {checks.shown(given)} is not the name of a file in the folder")
    return folder / given
