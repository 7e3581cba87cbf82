"""Strict loader of scenario files: TOML or JSON, the flat keys of `Scenario`, nothing unknown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

from .own_scheduler import own_name
from .scenario import Scenario
from .specfile import build, read_mapping

__all__ = ["load_scenario"]

_FILES = ("hardware", "model", "step_time", "trace", "lengths")
_CALLS = ("arrivals", "lengths")  # profile(FILE, ...) and quantiles(FILE, ...)
_LAWS = ("prompt", "output")
_ENDS = (".toml", ".json", ".csv")
_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def _typed(where: str, key: str, value: Any, hint: Any) -> Any:
    """``value`` if it fits the type hint (an int where a float is wanted becomes one), else an error."""
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in _LAWS and is_number:
        return repr(value)
    for kind in kinds:
        if kind is float and isinstance(value, int) and is_number:
            try:
                return float(value)
            except OverflowError:
                raise ConfigError(f"{where}: {key}: {shown(value)} is too large for any quantity") from None
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    raise ConfigError(f"{where}: {key}: {shown(value)} is not {' or '.join(_WORDS[kind] for kind in kinds)}")


def _beside(key: str, value: Any, folder: str) -> Any:
    """A file that a scenario names: beside the scenario if it is there, else where the command runs.

    A bare word may be a preset, so it names a file only where nothing else can be meant.
    """
    if not isinstance(value, str) or not folder:
        return value
    if key in _CALLS and "(" in value:
        from .workload.parse import with_file

        return with_file(value, lambda file: _found(file, folder))
    if key == "scheduler":
        own = own_name(value)
        return value if own is None or not own.file else _found(own.file, folder) + value[len(own.file) :]
    is_file = key in ("trace", "lengths") or "/" in value or value.lower().endswith(_ENDS)
    return _found(value, folder) if key in _FILES and is_file and "(" not in value else value


def _found(file: str, folder: str) -> str:
    beside = os.path.join(folder, file)  # an absolute name stays as it is
    return beside if os.path.exists(beside) else file


def load_scenario(path: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file, with ``overrides`` (already typed, as from flags) on top.

    Parameters
    ----------
    path : str or Path, optional
        TOML or JSON; without it the defaults. Files that it names are looked for in its folder, then in the
        current one; ``prompt`` and ``output`` may be plain numbers.
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
    chosen: dict[str, Any] = {}
    if path is not None:
        hints = get_type_hints(Scenario)
        chosen = {
            key: _typed(str(path), key, value, hints[key]) if key in hints else value
            for key, value in read_mapping(path).items()
        }
        folder = os.path.dirname(path)
        chosen = {key: _beside(key, value, folder) for key, value in chosen.items()}
        build(Scenario, chosen, str(path))  # the file must hold on its own, whatever the flags say
    return Scenario(**chosen | dict(overrides or {}))
