"""Fixed points of real or complex maps, many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

__all__ = ["fixed_point"]

Array = TypeVar("Array", NDArray[np.float64], NDArray[np.complex128])
Indices = NDArray[np.intp]


def fixed_point(
    mapping: Callable[[Array, Indices], Array],
    start: Array,
    *,
    tol: float = 1e-14,
    max_steps: int = 500,
) -> Array:
    """Fixed points ``x = mapping(x)``, element by element, by secant steps that fall back on plain iteration.

    Where the mapping contracts, plain iteration converges; a secant step is kept only while it lowers the
    residual, so that heavy traffic (a contraction close to 1) costs a dozen steps rather than thousands.

    Parameters
    ----------
    mapping : callable (x, which) -> array
        The map applied to the elements with the numbers ``which``; called with the open ones only.
    start : array, float or complex
        Starting values, one-dimensional.
    tol : float
        Residual ``|mapping(x) - x|`` aimed at, relative to ``max(|x|, 1)``.
    max_steps : int
        Evaluations at most.

    Raises
    ------
    ConvergenceError
        If an element does not converge.

    Examples
    --------
    >>> root = fixed_point(lambda x, which: np.exp(-x), np.array([0.5]))
    >>> float(root[0].round(8))
    0.56714329
    """
    answer = start.copy()
    which = np.arange(start.size)
    x = start.copy()
    image = mapping(x, which)
    x_old, r_old = x, np.full_like(x, np.inf)
    for _ in range(max_steps):
        r = image - x
        worse = ~(np.abs(r) <= np.abs(r_old))  # the last step was bad: keep iterating plainly from there
        answer[which] = image
        is_open = np.abs(r) > tol * np.maximum(np.abs(x), 1.0)
        if not is_open.any():
            return answer
        which, x, image, r, worse = which[is_open], x[is_open], image[is_open], r[is_open], worse[is_open]
        x_old, r_old = x_old[is_open], r_old[is_open]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = -r * (x - x_old) / (r - r_old)
        plain = worse | ~np.isfinite(step)
        x_old, r_old = x, r
        x = np.where(plain, image, x + step)
        image = mapping(x, which)
    raise ConvergenceError(f"no fixed point to {tol:g} after {max_steps} steps; raise max_steps")
