"""How long, how fast and how bursty a load may be."""

from __future__ import annotations

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["CV_RANGE", "FASTEST_RPS", "LONGEST_S", "check_span"]

LONGEST_S = 1e9
"""Longest time that is simulated, seconds (32 years): beyond it a clock in 64 bits is coarser than 1e-7 s."""

FASTEST_RPS = 1e12
"""Largest rate of a phase or a window."""

CV_RANGE = (1e-6, 1e3)
"""Of gaps: beyond, thousands of arrivals at one moment hide a pause that hardly any run sees."""


def check_span(seconds: float, **cause: object) -> None:
    """Refuse what would take longer than `LONGEST_S`, naming the one value that makes it so."""
    if not seconds <= LONGEST_S:
        ((name, value),) = cause.items()
        raise ConfigError(
            f"{name}: {checks.shown(value)} makes the arrivals last {seconds:.3g} s; at most {LONGEST_S:g} "
            "s, as a clock in 64 bits is too coarse beyond"
        )
