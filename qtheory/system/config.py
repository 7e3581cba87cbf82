"""Strict loader of scenario files: TOML or JSON, the flat keys of `Scenario`, nothing unknown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

from .scenario import Scenario
from .specfile import build, read_mapping

__all__ = ["load_scenario"]

_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def _typed(where: str, value: Any, hint: Any) -> Any:
    """``value`` if it fits the type hint (an int where a float is wanted becomes one), else an error."""
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    for kind in kinds:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    raise ConfigError(f"{where}: {shown(value)} is not {' or '.join(_WORDS[kind] for kind in kinds)}")


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
    chosen: dict[str, Any] = {}
    if path is not None:
        hints = get_type_hints(Scenario)
        chosen = {
            key: _typed(f"{path}: {key}", value, hints[key]) if key in hints else value
            for key, value in read_mapping(path).items()
        }
        build(Scenario, chosen, str(path))  # the file must hold on its own, whatever the flags say
    return Scenario(**chosen | dict(overrides or {}))
