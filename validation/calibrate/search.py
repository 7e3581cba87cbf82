"""Least squares over efficiencies and overheads, for any function that gives residuals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import FRACTIONS

from .server import OUTSIDE

__all__ = ["USUAL", "Found", "find"]

Array = NDArray[np.float64]
Residuals = Callable[[Mapping[str, float]], Array]
_HIGH = dict.fromkeys(FRACTIONS, 1.6) | {
    "overhead_per_step_s": 0.5,
    "overhead_per_layer_s": 0.005,
    OUTSIDE: 5.0,
}
_LOW = dict.fromkeys(FRACTIONS, 0.02) | {
    "overhead_per_step_s": 0.0,
    "overhead_per_layer_s": 0.0,
    OUTSIDE: 0.0,
}
_SCALE = dict.fromkeys(FRACTIONS, 1.0) | {
    "overhead_per_step_s": 5e-3,
    "overhead_per_layer_s": 5e-5,
    OUTSIDE: 0.05,
}
_STEP = 0.05  # of the scale: wide enough that the jumps of a simulation average out
USUAL = {
    "mfu_frac": 0.12,
    "mbu_frac": 0.15,
    "attention_mbu_frac": 0.15,
    "overhead_per_step_s": 2e-3,
    OUTSIDE: 0.02,
}
"""How far the usual values are off (standard deviation): shares among the accelerators and engines of
``fitted.csv``, host times of engines. Measurements are weighed against that."""
_HARDLY = 0.7  # of the usual error: where the measurements leave more, they hardly tell the parameter
_ALIKE = 0.97  # correlation from which two parameters are known together only


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Parameters that meet the measurements best.

    Parameters
    ----------
    values : mapping of str to float
        All of them.
    errors : mapping of str to float
        Standard errors of those that were fitted.
    unclear : tuple of str
        Those that the measurements hardly tell: mostly the usual value.
    alike : tuple of (str, str)
        Pairs that are known together better than alone.
    residuals : array
        In units of their own errors.
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    unclear: tuple[str, ...]
    alike: tuple[tuple[str, str], ...]
    residuals: Array


def find(residuals: Residuals, start: Mapping[str, float], names: list[str]) -> Found:
    """Vary ``names``: the measurements, weighed against how far the usual values are off.

    Parameters
    ----------
    residuals : callable (values) -> array
        Differences in units of their errors.
    start : mapping of str to float
        All parameters: the usual values.
    names : list of str
        Those to vary.

    Raises
    ------
    ConfigError
        If a share is clearly above 1.
    """
    values, jacobian, left = _search(residuals, dict(start), names)
    errors, correlations = _errors(names, jacobian, left)
    _refuse(values, errors)
    alike = tuple(
        (names[i], names[j]) for i in range(len(names)) for j in range(i) if abs(correlations[i, j]) > _ALIKE
    )
    return Found(
        values=values | {name: min(values[name], 1.0) for name in FRACTIONS},
        errors=errors,
        unclear=tuple(name for name in names if errors[name] > _HARDLY * USUAL[name]),
        alike=alike,
        residuals=left,
    )


def _search(
    residuals: Residuals, values: dict[str, float], names: list[str]
) -> tuple[dict[str, float], Array, Array]:
    from scipy.optimize import least_squares  # slow to import, so only here

    scale = np.array([_SCALE[name] for name in names])
    low, high = (np.array([limits[name] for name in names]) / scale for limits in (_LOW, _HIGH))

    def at(x: Array) -> dict[str, float]:
        return values | {name: float(v) for name, v in zip(names, x * scale, strict=True)}

    usual = np.array([values[name] for name in names]) / scale
    width = np.array([USUAL[name] for name in names]) / scale
    start = np.clip(usual, low + 1e-6, high - 1e-6)

    def weighed(x: Array) -> Array:
        return np.concatenate([residuals(at(x)), (x - usual) / width])

    def slopes(x: Array) -> Array:
        return _jacobian(weighed, x, high)

    found = least_squares(
        weighed,
        start,
        jac=slopes,
        bounds=(low, high),
        loss="soft_l1",
        f_scale=3.0,
        xtol=1e-4,
        ftol=1e-5,
        max_nfev=30,
    )
    left = residuals(at(found.x))
    return at(found.x), _jacobian(lambda x: residuals(at(x)), found.x, high) / scale, left


def _jacobian(function: Callable[[Array], Array], x: Array, high: Array) -> Array:
    """Differences to one side: up, or down at an upper bound."""
    here, columns = function(x), []
    for i in range(len(x)):
        there = x.copy()
        there[i] += _STEP if x[i] + _STEP <= high[i] else -_STEP
        columns.append((function(there) - here) / (there[i] - x[i]))
    return np.column_stack(columns)


def _errors(names: list[str], jacobian: Array, left: Array) -> tuple[dict[str, float], Array]:
    """Standard errors, larger where the residuals are larger than theirs, and correlations."""
    width = np.array([USUAL[name] for name in names])
    worse = max(1.0, float(np.sum(left**2)) / max(len(left) - len(names), 1))
    scaled = jacobian * width  # in units of the usual errors
    covariance = np.linalg.inv(scaled.T @ scaled / worse + np.eye(len(names)))
    root = np.sqrt(np.diag(covariance))
    errors = {name: float(error) for name, error in zip(names, root * width, strict=True)}
    return errors, covariance / np.outer(root, root)


def _refuse(values: Mapping[str, float], errors: Mapping[str, float]) -> None:
    for name in FRACTIONS:
        if name in errors and values[name] - 2 * errors[name] > 1:
            raise ConfigError(
                f"{name}: the measurements ask for {values[name]:.2f}, more than the accelerator has; wrong "
                "accelerator, model, precision or --tp, or prompts that a prefix cache had (give --prompt "
                "without them)"
            )
