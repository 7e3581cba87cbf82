"""Least squares over a few parameters that are known beforehand, more or less."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fit", "Free", "fit"]

Array = NDArray[np.float64]
_STEP = 0.2  # of a width: the jumps of a simulation average out over it
_EVALUATIONS = 12  # of the point itself; each comes with one a parameter for the slopes
_INSIDE = 0.4  # widths from a bound to begin at: close to one the search creeps
_ROBUST = 3.0  # residuals beyond so many of their errors count less and less


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """A parameter to be fitted.

    Parameters
    ----------
    name : str
    usual : float
        What it is taken to be beforehand.
    width : float
        How far that is off, as a standard deviation, > 0.
    low, high : float
        Its bounds.
    """

    name: str
    usual: float
    width: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Parameters that meet the measurements best.

    Parameters
    ----------
    values, errors : mapping of str to float
        Of the fitted ones, with standard errors.
    unclear : tuple of str
        Those of which the measurements tell little more than was known beforehand.
    misfit : float
        Sum of the squares of residuals (large ones counted less) and of the distances from what is usual.
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    unclear: tuple[str, ...]
    misfit: float


_HARDLY = 0.7  # of the width beforehand


def fit(residuals: Callable[[Mapping[str, float]], Array], free: Sequence[Free]) -> Fit:
    """The parameters with the least squares of residuals and of their own distance from what is usual.

    Parameters
    ----------
    residuals : callable (values) -> array
        Differences in units of their errors, by the values of the free parameters.
    free : sequence of Free
        At least one.

    Examples
    --------
    >>> slope = Free(name="slope", usual=1.0, width=1.0, low=0.0, high=10.0)
    >>> found = fit(lambda values: (values["slope"] * np.arange(1.0, 4.0) - [3.0, 6.0, 9.0]) / 0.01, [slope])
    >>> round(found.values["slope"], 2), found.unclear
    (3.0, ())
    """
    from scipy.optimize import least_squares  # slow to import, so only here

    usual, width = (np.array([getattr(each, key) for each in free]) for key in ("usual", "width"))
    low, high = (np.array([getattr(each, key) for each in free]) for key in ("low", "high"))

    def named(x: Array) -> dict[str, float]:
        return {each.name: float(value) for each, value in zip(free, usual + x * width, strict=True)}

    def weighed(x: Array) -> Array:
        return np.concatenate([residuals(named(x)), x])

    def slopes(x: Array) -> Array:
        here, columns = weighed(x), []
        for i in range(len(x)):
            there = x.copy()
            there[i] += _STEP if usual[i] + (x[i] + _STEP) * width[i] <= high[i] else -_STEP
            columns.append((weighed(there) - here) / (there[i] - x[i]))
        return np.column_stack(columns)

    bounds = ((low - usual) / width, (high - usual) / width)
    begin = np.clip(np.zeros(len(free)), bounds[0] + _INSIDE, bounds[1] - _INSIDE)
    found = least_squares(
        weighed,
        begin,
        jac=slopes,
        bounds=bounds,
        loss="soft_l1",
        f_scale=_ROBUST,
        xtol=1e-3,
        ftol=1e-3,
        max_nfev=_EVALUATIONS,
    )
    jacobian = slopes(found.x)
    spread = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    errors = {each.name: float(error) for each, error in zip(free, spread * width, strict=True)}
    told = (spread <= _HARDLY) | (np.abs(found.x) > 1)  # far from what is usual is told too
    unclear = tuple(each.name for each, is_told in zip(free, told, strict=True) if not is_told)
    return Fit(values=named(found.x), errors=errors, unclear=unclear, misfit=2 * float(found.cost))
