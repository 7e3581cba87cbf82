"""Arrays in, checked: one series or one a replication, levels, Student's t."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError

__all__ = ["Floats", "Runs", "as_runs", "as_values", "check_level", "t_below", "t_quantile"]

Floats = NDArray[np.float64]
Runs: TypeAlias = ArrayLike | Sequence[ArrayLike]


def as_values(name: str, values: ArrayLike, *, least: int = 1) -> Floats:
    """One finite series of at least ``least`` values as an array (n,), else a `ConfigError` with ``name``."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise ConfigError(f"{name}: shape {array.shape}; give one series, shape (n,)")
    if array.size < least:
        raise ConfigError(f"{name}: {array.size} values; give at least {least}")
    n_bad = int(np.count_nonzero(~np.isfinite(array)))
    if n_bad:
        raise ConfigError(
            f"{name}: {n_bad} of {array.size} values are not finite; leave out requests that have none"
        )
    return array


def as_runs(name: str, runs: Runs) -> list[Floats]:
    """The series of each replication; a single series counts as one replication.

    Examples
    --------
    >>> [len(run) for run in as_runs("runs", [[1, 2, 3], [4, 5]])]
    [3, 2]
    >>> len(as_runs("runs", [1.0, 2.0, 3.0]))
    1
    """
    if isinstance(runs, np.ndarray):
        parts = [runs] if runs.ndim == 1 else list(runs)
    elif not isinstance(runs, Sequence):
        raise ConfigError(f"{name}: {type(runs).__name__}; give one series, or one a replication")
    else:
        parts = [np.asarray(runs)] if len(runs) == 0 or np.ndim(runs[0]) == 0 else list(runs)
    if not parts:
        raise ConfigError(f"{name}: no replications; give at least one series")
    return [as_values(name, part) for part in parts]


def check_level(level: float) -> None:
    """Raise `ConfigError` unless the confidence level lies in (0, 1)."""
    if not 0 < level < 1:
        raise ConfigError(f"level: {level} must lie between 0 and 1, such as 0.95")


def t_quantile(level: float, dof: float) -> float:
    """Two-sided quantile of Student's t: ``level`` of the mass lies within plus or minus this.

    Examples
    --------
    >>> round(t_quantile(0.95, 9), 3)
    2.262
    """
    from scipy import special  # slow to import, so only here

    return float(special.stdtrit(dof, (1 + level) / 2))


def t_below(dof: float, value: float) -> float:
    """Share of Student's t at or below ``value``.

    Examples
    --------
    >>> round(t_below(9, -2.262), 3)
    0.025
    """
    from scipy import special  # slow to import, so only here

    return float(special.stdtr(dof, value))
