"""Plain specifications from files: TOML or JSON into a dataclass, with one line of error where that fails."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = [
    "build",
    "folded",
    "names_a_file",
    "number_between",
    "read_mapping",
    "shown",
    "text",
    "unknown_name",
    "whole_between",
]

T = TypeVar("T")
_LARGEST_BYTES = 8_000_000  # a specification of a few dozen numbers; anything larger is another file
_VENDORS = {"nvidia", "amd", "intel", "google", "habana", "apple", "instinct", "geforce", "tesla", "gpu"}


def folded(name: str) -> str:
    """Spelling-blind form of a name: no case, spaces, dashes, underscores, vendor words or bracketed remarks.

    Examples
    --------
    >>> folded("NVIDIA A100-SXM4-80GB"), folded("A100 80GB (8 replicas)")
    ('a100sxm480gb', 'a10080gb')
    """
    words = name.partition("(")[0].lower().replace("-", " ").replace("_", " ").split()
    return "".join(word for word in words if word not in _VENDORS)


def names_a_file(name: str) -> bool:
    """Whether ``name`` means a specification file rather than a preset: it ends like one or exists."""
    return name.lower().endswith((".toml", ".json")) or os.path.isfile(name)


def whole_between(name: str, value: object, least: int, most: int) -> None:
    """Raise `ConfigError` unless ``value`` is a whole number in ``least`` .. ``most``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigError(f"{name}: {shown(value)} is not a whole number; give one in {least:,} .. {most:,}")
    if not least <= int(value) <= most:
        raise ConfigError(f"{name}: {shown(value)} is outside what is allowed, {least:,} .. {most:,}")


def number_between(name: str, value: object, least: float, most: float) -> None:
    """Raise `ConfigError` unless ``value`` is a finite number in ``least`` .. ``most``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name}: {shown(value)} is not a number; give one in {least:g} .. {most:g}")
    number = value if isinstance(value, int) else float(value)
    if not least <= number <= most:  # also refuses NaN and infinity
        raise ConfigError(f"{name}: {shown(value)} is outside what is allowed, {least:g} .. {most:g}")


def text(name: str, value: object) -> None:
    """Raise `ConfigError` unless ``value`` is text."""
    if not isinstance(value, str):
        raise ConfigError(f"{name}: {shown(value)} is not text; put it in quotes")


def shown(value: object) -> str:
    """Text of any value, at most 60 characters of it and on one line."""
    words = f"{value:g}" if isinstance(value, float) else repr(value)
    return words if len(words) <= 60 else f"{words[:57]}..."


def unknown_name(kind: str, name: str, known: Sequence[str]) -> ConfigError:
    """The error for a preset name that is not there: nearest spelling, some names, the way out."""
    hint = checks.nearest(folded(name), known) or checks.nearest(name, known)
    some = ", ".join(known[:: max(1, len(known) // 8)][:8])
    known_text = f"{len(known)} presets are known ({some}, ...)"
    return ConfigError(f"{kind}: unknown {shown(name)}{hint}; {known_text}, or give a .toml or .json file")


def read_mapping(path: Path) -> dict[str, Any]:
    """Keys and values of a TOML or JSON file; a folder stands for the ``config.json`` in it.

    Parameters
    ----------
    path : Path
        A file ending in ``.toml`` or ``.json`` (byte order mark and any line ends are fine), or a folder.

    Raises
    ------
    ConfigError
        If it cannot be read, is not of its format, or does not hold keys with values.
    """
    if os.path.isdir(path):  # unlike Path.is_dir it never raises
        path = path / "config.json"
    if path.suffix.lower() not in (".toml", ".json"):
        raise ConfigError(f"{path}: not a .toml or .json file")
    try:
        size = path.stat().st_size
        if size > _LARGEST_BYTES:
            raise ConfigError(f"{path}: {size:,} bytes; a specification has at most {_LARGEST_BYTES:,}")
        content = path.read_bytes().decode("utf-8-sig")
        values = tomllib.loads(content) if path.suffix.lower() == ".toml" else json.loads(content)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from None
    except (ValueError, RecursionError) as error:  # of both parsers, a number of thousands of digits included
        if isinstance(error, ConfigError):
            raise
        what = path.suffix[1:].upper()
        raise ConfigError(f"{path}: not valid {what}: {str(error).splitlines()[0]}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: holds {type(values).__name__}, not keys with values")
    return values


def build(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of the dataclass ``kind`` from keys and values; errors begin with ``where``.

    Raises
    ------
    ConfigError
        For an unknown key (with the nearest spelling), a missing one, or a value that ``kind`` refuses.
    """
    known: dict[str, Field[Any]] = {item.name: item for item in fields(kind) if item.init}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(f"{where}: {key}: unknown key{checks.nearest(key, known)}")
    for name, item in known.items():
        if name not in values and item.default is MISSING and item.default_factory is MISSING:
            raise ConfigError(f"{where}: {name}: missing; a {kind.__name__} needs it")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
