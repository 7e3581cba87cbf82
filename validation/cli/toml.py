"""A frozen value as the text of a TOML file that describes the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from qtheory.basics.errors import ConfigError

__all__ = ["as_toml"]


def as_toml(value: Any) -> str:
    """A line a field, without fields that have no value and those that are empty or zero by default.

    Parameters
    ----------
    value : dataclass instance
        Of text, numbers, bools and mappings of those.

    Raises
    ------
    ConfigError
        If a field is of another kind.

    Examples
    --------
    >>> from qtheory.system.slo import Slo
    >>> print(as_toml(Slo(ttft_s=2.0)))
    ttft_s = 2.0
    """
    lines = []
    for item in fields(value):
        entry = getattr(value, item.name)
        is_default = not isinstance(entry, Mapping) and entry == item.default
        if entry is None or (is_default and not entry):
            continue
        lines.append(f"{item.name} = {_written(item.name, entry)}")
    return "\n".join(lines)


def _written(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(key)} = {_written(name, part)}" for key, part in value.items())
        return f"{{ {', '.join(entries)} }}"
    raise ConfigError(f"{name}: {value!r} cannot be written as TOML")
