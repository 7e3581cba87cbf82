"""Where a result comes from: version, scenario and seed, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

__all__ = ["Provenance", "version"]


@cache
def version() -> str:
    """Version of the installed distribution, ``unknown`` when run from a bare checkout.

    Examples
    --------
    >>> version() == "unknown" or version()[0].isdigit()
    True
    """
    try:
        return metadata.version("queueserve")
    except metadata.PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Version of this software, scenario and seed that make a result again.

    Parameters
    ----------
    version : str
        Of this software (default: the one that runs).
    scenario : dict
        The plain fields of the scenario that differ from their defaults.
    seed : int
        Seed of all random numbers, >= 0.

    Examples
    --------
    >>> Provenance(version="0.1.0", scenario={"hardware": "h100"}).seed
    0
    """

    version: str = field(default_factory=version)
    scenario: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
