"""Least squares over efficiencies and overheads, for any function that gives residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import FRACTIONS
from qtheory.system.steptime.fit import USUALLY_OFF

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
_WIDE = 0.15  # of the scale, to both sides
_STEPS, _LAST = 5, 4  # steps of a search, and those whose mean is its end
_FURTHEST, _FURTHEST_TIME = 2.0, 20.0  # of a step, in widths of what is usual: shares, times
_ROBUST = 3.0  # residuals beyond so many of their errors count less and less
USUAL: Mapping[str, float] = {**USUALLY_OFF, OUTSIDE: 0.02}
"""How far the usual values are off (standard deviation). Measurements are weighed against that."""
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


def find(
    residuals: Residuals,
    start: Mapping[str, float],
    names: list[str],
    *,
    begin: Mapping[str, float] | None = None,
) -> Found:
    """Vary ``names``: the measurements, weighed against how far the usual values are off.

    Parameters
    ----------
    residuals : callable (values) -> array
        Differences in units of their errors.
    start : mapping of str to float
        All parameters: the usual values.
    names : list of str
        Those to vary.
    begin : mapping of str to float, optional
        Where to begin (default: at the usual values).

    Raises
    ------
    ConfigError
        If a share is clearly above 1.
    """
    usual, width = _usual(start, names)
    values, jacobian, left = _search(residuals, dict(start), names, begin or start)
    width = _widened(np.array([values[name] for name in names]), usual, width)
    errors, correlations = _errors(names, width, jacobian, left)
    _refuse(values, errors)
    values = _possible(values, errors, correlations, names)
    alike = tuple(
        (names[i], names[j]) for i in range(len(names)) for j in range(i) if abs(correlations[i, j]) > _ALIKE
    )
    return Found(
        values=values,
        errors=errors,
        unclear=tuple(n for n, usual in zip(names, width, strict=True) if errors[n] > _HARDLY * usual),
        alike=alike,
        residuals=left,
    )


def _search(
    residuals: Residuals, values: dict[str, float], names: list[str], begin: Mapping[str, float]
) -> tuple[dict[str, float], Array, Array]:
    """Values, slopes by parameter (residuals, names), and the residuals there."""
    scale = np.array([_SCALE[name] for name in names])
    low, high = (np.array([limits[name] for name in names]) / scale for limits in (_LOW, _HIGH))
    usual, width = (column / scale for column in _usual(values, names))

    def at(x: Array) -> Array:
        return residuals(named(x))

    def named(x: Array) -> dict[str, float]:
        return values | {name: float(v) for name, v in zip(names, x * scale, strict=True)}

    x = np.array([begin[name] for name in names]) / scale
    furthest = width * [_FURTHEST if name in FRACTIONS else _FURTHEST_TIME for name in names]
    x, jacobian = _stepped(at, x, _Box(low, high, usual, width, furthest))
    return named(x), jacobian / scale, at(x)


class _Box(NamedTuple):
    """Bounds of parameters, what is usual, and how far a step goes."""

    low: Array
    high: Array
    usual: Array
    width: Array
    furthest: Array


def _widened(x: Array, usual: Array, width: Array) -> Array:
    """Widths of what is usual, larger for what turns out not to be: as robust as the measurements."""
    found: Array = width * (1 + ((x - usual) / (_ROBUST * width)) ** 2) ** 0.25
    return found


def _stepped(function: Callable[[Array], Array], x: Array, box: _Box) -> tuple[Array, Array]:
    """Steps by slopes so wide that the jumps of a simulation average out, and the mean of the last ones.

    A search by ever smaller steps ends where it happens to stand in a long valley (a slower memory and a
    shorter overhead make the same token), because the jumps there are higher than the slope.
    """
    places, slopes = [], []
    for _ in range(_STEPS):
        slopes.append(_jacobian(function, x, box.low, box.high))
        here, jacobian = function(x), np.mean(slopes[-_LAST:], axis=0)
        weight = 1 / np.sqrt(1 + (here / _ROBUST) ** 2)
        known = 1 / _widened(x, box.usual, box.width) ** 2
        bend = jacobian.T @ (weight[:, None] * jacobian) + np.diag(known)
        slope = jacobian.T @ (weight * here) + known * (x - box.usual)
        x = np.clip(x - np.clip(np.linalg.solve(bend, slope), -box.furthest, box.furthest), box.low, box.high)
        places.append(x)
    return np.mean(places[-_LAST:], axis=0), np.mean(slopes[-_LAST:], axis=0)


def _usual(values: Mapping[str, float], names: list[str]) -> tuple[Array, Array]:
    """Mean and standard deviation of what is usual and possible: shares to 1, times from 0 on.

    Those of a normal law cut off there, after Johnson, Kotz and Balakrishnan, Continuous Univariate
    Distributions, volume 1 (1994), section 10.1.
    """
    rows = []
    for name in names:
        middle, width = values[name], USUAL[name]
        side = 1.0 if name in FRACTIONS else -1.0
        at = side * ((1.0 if name in FRACTIONS else 0.0) - middle) / width  # the limit, in widths
        tail = math.exp(-at * at / 2) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-at / math.sqrt(2)))
        rows.append((middle - side * width * tail, width * math.sqrt(1 - at * tail - tail**2)))
    columns = np.array(rows).T
    return columns[0], columns[1]


def _jacobian(function: Callable[[Array], Array], x: Array, low: Array, high: Array) -> Array:
    """Differences to both sides, so wide that the jumps of a simulation do not pass for knowledge."""
    columns = []
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i], down[i] = min(x[i] + _WIDE, high[i]), max(x[i] - _WIDE, low[i])
        columns.append((function(up) - function(down)) / (up[i] - down[i]))
    return np.column_stack(columns)


def _errors(names: list[str], width: Array, jacobian: Array, left: Array) -> tuple[dict[str, float], Array]:
    """Standard errors, larger where the residuals are larger than theirs, and correlations."""
    worse = max(1.0, float(np.sum(left**2)) / max(len(left) - len(names), 1))
    scaled = jacobian * width  # in units of the usual errors
    covariance = np.linalg.inv(scaled.T @ scaled / worse + np.eye(len(names)))
    root = np.sqrt(np.diag(covariance))
    errors = {name: float(error) for name, error in zip(names, root * width, strict=True)}
    return errors, covariance / np.outer(root, root)


def _possible(
    values: dict[str, float], errors: Mapping[str, float], correlations: Array, names: list[str]
) -> dict[str, float]:
    """Shares above 1 set to 1, and what is known together with them moved along."""
    found = dict(values)
    for i, name in enumerate(names):
        if name not in FRACTIONS or found[name] <= 1:
            continue
        over = (1 - found[name]) / errors[name]
        for j, other in enumerate(names):
            moved = found[other] + over * correlations[i, j] * errors[other]
            found[other] = min(max(moved, _LOW[other]), _HIGH[other])
        found[name] = 1.0
    return found | {name: min(found[name], 1.0) for name in FRACTIONS}


def _refuse(values: Mapping[str, float], errors: Mapping[str, float]) -> None:
    for name in FRACTIONS:
        if name in errors and values[name] - 2 * errors[name] > 1:
            raise ConfigError(
                f"{name}: the measurements ask for {values[name]:.2f}, more than the accelerator has; wrong "
                "accelerator, model, precision or --tp, or prompts that a prefix cache had (give --prompt "
                "without them)"
            )
