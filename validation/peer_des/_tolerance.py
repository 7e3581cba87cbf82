"""What a figure may differ by, as a case says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._figures import EXACT, SHORT_NAMES
from ._reading import number, only_keys, table

__all__ = ["Tolerance", "read_tolerance"]

_GENERAL = ("abs_ms", "rel", "reuse_abs", "throughput_rel", "goodput_of_offered", "goodput_rel")
_KEYS = (*_GENERAL, *(f"{name}_{kind}" for name in sorted(SHORT_NAMES.values()) for kind in ("rel", "abs")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Bounds by key, such as ``abs_ms`` or ``p99_ttft_rel``.

    Parameters
    ----------
    bounds : mapping of str to float
    """

    bounds: Mapping[str, float]

    def allowed(self, column: str, expected: float, *, offered_rps: float) -> float | None:
        """What the figure of a column may differ by, in its own unit; None if nothing is said of it."""
        bounds = self.bounds
        if column in EXACT:
            return 0.0
        if column == "goodput_request_throughput_rps" and "goodput_of_offered" in bounds:
            return bounds["goodput_of_offered"] * offered_rps
        name = SHORT_NAMES.get(column, "")
        own = [f"{name}_abs", f"{name}_rel"]
        if name.startswith("throughput"):
            own.append("throughput_rel")
        general = ["abs_ms", "rel"] if column.endswith("_ms") else ["rel"]
        for key in (*own, *([] if name == "reuse" else general)):
            if key in bounds:
                return bounds[key] * abs(expected) if key.endswith("rel") else bounds[key]
        return None


def read_tolerance(where: str, given: Any) -> Tolerance | None:
    """The bounds of a case; None for ``informative``: then figures are shown and not judged.

    Raises
    ------
    ConfigError
        If a key is unknown or a bound is not a number of at least zero.
    """
    if given == "informative":
        return None
    if isinstance(given, str):
        raise ConfigError(
            f"{where}: {checks.shown(given)} is neither a table nor 'informative'"
            f"{checks.nearest(given, ['informative'])}"
        )
    bounds = table(where, given)
    only_keys(where, bounds, _KEYS)
    if not bounds:
        raise ConfigError(f"{where}: names no bound; give one, or 'informative'")
    return Tolerance(bounds={key: number(f"{where}.{key}", value, least=0) for key, value in bounds.items()})
