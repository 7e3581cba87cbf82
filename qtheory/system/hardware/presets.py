"""Accelerators by name or from a file."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from qtheory.basics.files import shown_name
from qtheory.system.specfile import (
    build,
    folded,
    names_a_file,
    names_by_spelling,
    packaged_table,
    read_mapping,
    unknown_name,
)

from .fitted import ENGINES, efficiencies_of
from .hardware import Hardware

__all__ = ["find_hardware", "hardware_names"]


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Preset values by name, defaults filled in."""
    table = packaged_table(__package__, "presets.toml")
    defaults = table.pop("defaults")
    return {name: defaults | values for name, values in table.items()}


@cache
def _names_by_spelling() -> dict[str, str]:
    return names_by_spelling(_table())


def hardware_names() -> list[str]:
    """Names of all presets, in the order of the file.

    Examples
    --------
    >>> hardware_names()[:2]
    ['rtx3050', 'rtx3050-8gb']
    """
    return list(_table())


@cache
def _preset(name: str) -> Hardware:
    values = {key: value for key, value in _table()[name].items() if key not in ("aliases", "label")}
    return build(Hardware, values | {"name": name}, f"preset {name}")


def _by_name(name: str) -> Hardware | None:
    """The preset of this name, with the efficiencies of the engine behind it, if any."""
    spelled = folded(name)
    known = _names_by_spelling().get(spelled)
    if known is not None:
        return _preset(known)
    for engine in ENGINES:
        card = _names_by_spelling().get(spelled.removesuffix(engine))
        if card is not None:
            return efficiencies_of(card, engine).on(_preset(card), engine)
    return None


def find_hardware(name_or_path: str | Path) -> Hardware:
    """The preset of this name, or the accelerator described in this TOML or JSON file.

    Parameters
    ----------
    name_or_path : str or Path
        A name such as ``h100``, a spelling such as ``NVIDIA A100-SXM4-80GB`` (case, spaces, dashes and
        underscores do not matter), or a file with the fields of `Hardware`. A bare name means the usual
        variant. Behind a preset and a dash an engine of `ENGINES` can stand, as in ``h100-vllm``: then the
        efficiencies are those fitted on measurements of that engine (`qtheory.system.hardware.fitted`).

    Raises
    ------
    ConfigError
        If there is no such preset or file, or the file does not describe an accelerator.

    Examples
    --------
    >>> find_hardware("A100 80GB SXM").name, find_hardware("rtx3050").budget_tokens
    ('a100', 512)
    >>> find_hardware("h100-vllm").mbu_frac > find_hardware("h100").mbu_frac
    True
    """
    name = str(name_or_path)
    known = None if isinstance(name_or_path, Path) else _by_name(name)
    if known is not None:
        return known
    if isinstance(name_or_path, Path) or names_a_file(name) or os.path.isdir(name):
        path = Path(name_or_path)
        values = read_mapping(path)
        return build(
            Hardware, {"name": path.stem, "source": f"file {shown_name(path)}"} | values, shown_name(path)
        )
    raise unknown_name("hardware", name, hardware_names())
