"""Any frozen value as plain rows: one entry a field, nested values spread out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["facts"]


def facts(value: Any) -> dict[str, Any]:
    """Fields of a dataclass by name: plain values as they are, others as text, mappings spread out.

    Fields that are empty text or zero where zero is the default are left out: they say "no such part".

    Parameters
    ----------
    value : dataclass instance

    Returns
    -------
    dict
        From field name to a number, a text, a bool or None. A mapping ``peak_flops_per_s`` with a key
        ``bf16`` becomes ``peak_bf16_flops_per_s``.

    Examples
    --------
    >>> from qtheory.system.slo import Slo
    >>> facts(Slo(ttft_s=2.0))
    {'ttft_s': 2.0, 'tpot_s': None, 'e2e_s': None}
    """
    found: dict[str, Any] = {}
    for item in fields(value):
        entry = getattr(value, item.name)
        if isinstance(entry, Mapping):
            first, _, rest = item.name.partition("_")
            found |= {f"{first}_{key}_{rest}".rstrip("_"): part for key, part in entry.items()}
        elif isinstance(entry, str | bool | int | float) or entry is None:
            absent = entry in ("", 0) and entry == item.default and not isinstance(entry, bool)
            found |= {} if absent else {item.name: entry}
        elif is_dataclass(entry) and _has_parts(entry):
            found |= {f"{item.name}_{name}": part for name, part in facts(entry).items()}
        else:
            found[item.name] = str(entry)
    return found


def _has_parts(value: Any) -> bool:
    """Whether a dataclass is better read field by field: it has several, and no text of its own."""
    speaks = any("__str__" in vars(kind) for kind in type(value).__mro__[:-1])
    return len(fields(value)) > 1 and not speaks
