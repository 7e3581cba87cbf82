"""Rates that are constant between given times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["checked_rates"]

Floats = NDArray[np.float64]


def checked_rates(times_s: Sequence[float], rates_rps: Sequence[float]) -> tuple[Floats, Floats]:
    """Break times and the rates between them, checked."""
    if len(rates_rps) < 1 or len(times_s) != len(rates_rps) + 1:
        raise ConfigError(
            f"times_s: {len(times_s)} times for {len(rates_rps)} rates; give one time more than rates"
        )
    for time in times_s:
        checks.non_negative(times_s=time)
    for rate in rates_rps:
        checks.non_negative(rates_rps=rate)
    times = np.asarray(times_s, dtype=float)
    if np.any(np.diff(times) <= 0):
        k = int(np.argmax(np.diff(times) <= 0))
        raise ConfigError(f"times_s: {times[k + 1]:g} follows {times[k]:g}; times must increase")
    if not np.any(np.asarray(rates_rps, dtype=float) > 0):
        raise ConfigError("rates_rps: all are 0; at least one must be > 0")
    return times, np.asarray(rates_rps, dtype=float)
