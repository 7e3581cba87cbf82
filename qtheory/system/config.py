"""Strict loader of scenario files: TOML or JSON, the flat keys of `Scenario`, nothing unknown."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .scenario import Scenario

__all__ = ["load_scenario", "read_table"]

_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def read_table(path: str | Path) -> dict[str, Any]:
    """The table in a TOML or JSON file (told by its content), as a dictionary.

    Raises
    ------
    ConfigError
        If the file is missing, not text, neither TOML nor JSON, or not a table at the top.
    """
    file = Path(path)
    try:
        text = file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder; give a TOML or JSON file") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file; give TOML or JSON in UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if not text.strip():
        raise ConfigError(f'{path}: is empty; give at least one key, such as hardware = "a100"')
    is_json = text.lstrip().startswith(("{", "[")) and not _is_toml(text)
    try:
        table = json.loads(text) if is_json else tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path}: not valid {'JSON' if is_json else 'TOML'} ({error})") from None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: a table of keys is wanted at the top, not {type(table).__name__}")
    return table


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _typed(where: str, value: Any, hint: Any) -> Any:
    """``value`` if it fits the type hint (an int where a float is wanted becomes one), else an error."""
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    for kind in kinds:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    raise ConfigError(f"{where}: {value!r} is not {' or '.join(_WORDS[kind] for kind in kinds)}")


def load_scenario(path: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file, with ``overrides`` (already typed, as from flags) on top.

    Parameters
    ----------
    path : str or Path, optional
        TOML or JSON; without it the defaults.
    overrides : mapping, optional
        Field names and values that win over the file.

    Returns
    -------
    Scenario

    Raises
    ------
    ConfigError
        Naming the file, the key and the nearest right spelling.

    Examples
    --------
    >>> load_scenario(overrides={"hardware": "rtx3050"}).hardware
    'rtx3050'
    """
    hints = get_type_hints(Scenario)
    known = [item.name for item in fields(Scenario)]
    chosen: dict[str, Any] = {}
    if path is not None:
        for key, value in read_table(path).items():
            if key not in known:
                raise ConfigError(f"{path}: {key}: unknown key{checks.nearest(key, known)}")
            chosen[key] = _typed(f"{path}: {key}", value, hints[key])
        try:
            Scenario(**chosen)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    chosen.update(overrides or {})
    return Scenario(**chosen)
