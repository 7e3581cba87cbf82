"""Roots of functions of one variable, many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError

__all__ = ["bracketed_root", "quantile"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_TINY = 1e-300


def _chandrupatla_step(x: tuple[Floats, Floats, Floats], f: tuple[Floats, Floats, Floats]) -> Floats:
    """Where between x1 and x2 to look next: inverse quadratic interpolation if safe, else the middle."""
    (x1, x2, x3), (f1, f2, f3) = x, f
    with np.errstate(divide="ignore", invalid="ignore"):
        xi = (x1 - x2) / (x3 - x2)
        phi = (f1 - f2) / (f3 - f2)
        safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        share = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return np.where(safe & np.isfinite(share), share, 0.5)


def _ends(low: ArrayLike, high: ArrayLike) -> tuple[tuple[int, ...], Floats, Floats]:
    """The shape of the answer, and upper and lower bounds as flat arrays."""
    a, b = np.broadcast_arrays(np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    return a.shape, np.atleast_1d(b).ravel().copy(), np.atleast_1d(a).ravel().copy()


def bracketed_root(
    function: Callable[[Floats, Indices], Floats],
    low: ArrayLike,
    high: ArrayLike,
    *,
    rtol: float = 1e-12,
    ftol: float = 0.0,
    max_steps: int = 200,
    values: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Roots of many functions at once, each between its own two bounds (Chandrupatla's method [1]_).

    Parameters
    ----------
    function : callable (x, which) -> array
        Values at ``x`` of the functions with the numbers ``which``; called with the open ones only.
    low, high : array_like
        Bounds with values of opposite sign (a zero at a bound is a root).
    rtol : float
        Width of the final bracket relative to the root.
    ftol : float
        A value this small ends the search too.
    max_steps : int
        Evaluations at most.
    values : pair of arrays, optional
        The values at the two bounds, if they are known already.

    Raises
    ------
    ConfigError
        If the values at two bounds have the same sign.
    ConvergenceError
        If ``max_steps`` do not reach ``rtol``.

    References
    ----------
    .. [1] Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm for finding the zero of a
       nonlinear function without using derivatives", Adv. Eng. Software 28, 145-149.

    Examples
    --------
    >>> target = np.array([2.0, 3.0])
    >>> bracketed_root(lambda x, which: x**2 - target[which], [0.0, 0.0], [9.0, 9.0]).round(6).tolist()
    [1.414214, 1.732051]
    """
    shape, x1, x2 = _ends(low, high)
    which = np.arange(x1.size)
    if values is None:
        f1, f2 = function(x1, which), function(x2, which)
    else:
        f2, f1 = (np.array(v, dtype=float).ravel() for v in values)
    if np.any(f1 * f2 > 0):
        k = int(np.argmax(f1 * f2 > 0))
        raise ConfigError(f"low={x2[k]:g}, high={x1[k]:g}: the function has the same sign at both")
    root = np.where(np.abs(f1) < np.abs(f2), x1, x2)
    x3, f3 = x2, f2
    share = np.divide(f1, f1 - f2, out=np.full_like(f1, 0.5), where=f1 != f2)  # first a secant
    for _ in range(max_steps):
        better = np.abs(f1) < np.abs(f2)
        root[which] = np.where(better, x1, x2)
        width = np.abs(x2 - x1)
        least = np.divide(0.5 * rtol * np.abs(root[which]), width, out=np.ones_like(width), where=width > 0)
        is_open = (least < 0.5) & (np.where(better, np.abs(f1), np.abs(f2)) > ftol)
        if not is_open.any():
            return root.reshape(shape)
        which, share, least = which[is_open], share[is_open], least[is_open]
        x1, x2, x3, f1, f2, f3 = (v[is_open] for v in (x1, x2, x3, f1, f2, f3))
        x = x1 + np.clip(share, least, 1 - least) * (x2 - x1)
        f = function(x, which)
        same = np.sign(f) == np.sign(f1)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
        share = _chandrupatla_step((x1, x2, x3), (f1, f2, f3))
    raise ConvergenceError(f"no root to rtol={rtol:g} after {max_steps} steps; raise max_steps")


def quantile(
    tail: Callable[[Floats], Floats],
    q: ArrayLike,
    *,
    scale: ArrayLike,
    rtol: float = 1e-12,
    noise: ArrayLike = 0.0,
) -> Floats:
    """Smallest t >= 0 with ``1 - tail(t) >= q``, for a tail that falls from ``tail(0)`` to zero.

    Searched on the logarithm of the tail, which an exponential tail makes a straight line.

    Parameters
    ----------
    tail : callable (array) -> array
        P(T > t), non-increasing in t >= 0.
    q : array_like
        Levels in (0, 1).
    scale : array_like
        A time of the order of the mean, > 0; the bracket grows from it. One for all or one a level.
    rtol : float
        Relative accuracy of the answer.
    noise : array_like
        Absolute error of ``tail``, below which no better answer is looked for; one for all or one a level.

    Raises
    ------
    ConfigError
        If a level is not inside (0, 1).
    ConvergenceError
        If the tail does not fall below ``1 - q``.

    Examples
    --------
    >>> float(quantile(lambda t: 0.5 * np.exp(-t), 0.9, scale=1.0).round(6))  # ln 5
    1.609438
    >>> float(quantile(lambda t: 0.5 * np.exp(-t), 0.4, scale=1.0))
    0.0
    """
    shape = np.shape(q)
    levels = np.atleast_1d(np.asarray(q, dtype=float)).ravel()
    if not np.all((levels > 0) & (levels < 1)):
        bad = levels[~((levels > 0) & (levels < 1))][0]
        raise ConfigError(f"q: {bad:g} must lie strictly between 0 and 1")
    target = 1.0 - levels
    start = float(tail(np.zeros(1))[0])
    found = np.zeros(levels.size)
    later = np.flatnonzero(start > target)  # the others: t = 0 will do
    if later.size:
        goal = target[later]
        slack = np.broadcast_to(np.asarray(noise, dtype=float), shape).ravel()[later] / goal

        def gap(t: Floats, which: Indices) -> Floats:
            excess = np.log(np.maximum(tail(t), _TINY) / goal[which])
            return np.where(np.abs(excess) <= slack[which], 0.0, excess)

        scales = np.broadcast_to(np.asarray(scale, dtype=float), shape).ravel()[later]
        low, high, values = _bracket(gap, np.log(start / goal), scales)
        found[later] = bracketed_root(gap, low, high, rtol=rtol, ftol=1e-13, values=values)
    return found.reshape(shape)


def _bracket(
    gap: Callable[[Floats, Indices], Floats], start: Floats, scale: Floats
) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Bounds around the quantiles, grown from zero by steps longer than an exponential tail needs."""
    low, f_low = np.zeros(start.size), start
    high, f_high = scale * np.maximum(start, 0.1), np.zeros(start.size)
    left = np.arange(start.size)
    for _ in range(200):
        f_high[left] = gap(high[left], left)
        left = left[f_high[left] > 0]
        if not left.size:
            return low, high, (f_low, f_high)
        slope = (f_low[left] - f_high[left]) / (high[left] - low[left])
        low[left], f_low[left] = high[left], f_high[left]
        with np.errstate(divide="ignore", over="ignore"):
            step = np.where(slope > 0, 1.1 * f_low[left] / slope, np.inf)
        high[left] = low[left] + np.clip(step, 0.02 * low[left], 2.0 * low[left])
    raise ConvergenceError(f"the tail does not fall to the level asked for up to t={np.max(high):.3g}")
