"""Chains that go up by one at most, solved from the top without subtractions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from qtheory.basics.errors import ConvergenceError

__all__ = ["binomial_rows", "lowest_state", "top_share"]

Floats = NDArray[np.float64]

_ALL = 1500
_MOST = 5000


def lowest_state(load: float, n_servers: int) -> int:
    """Lowest state that is kept: 0 for few servers, else 12 standard deviations below the load."""
    if n_servers <= _ALL:
        return 0
    low = max(0, int(load - 12.0 * math.sqrt(load)) - 20)
    if n_servers - low > _MOST:
        raise ConvergenceError(f"load {load:g} of {n_servers} servers: more than {_MOST} states")
    return low


def binomial_rows(n: NDArray[np.intp], low: int, high: int, decay: Floats) -> Floats:
    """P(j of n[i] are left after ``decay[i]`` mean lifetimes), j = low..high; fewer count as ``low``."""
    count = np.asarray(n, dtype=float)[:, None]
    j = np.arange(low, high + 1, dtype=float)
    x = np.broadcast_to(np.asarray(decay, dtype=float), n.shape)[:, None]
    inside = j <= count
    gone = np.where(inside, count - j, 0.0)
    log_gone = np.log(-np.expm1(-np.maximum(x, 1e-300)))
    choose = gammaln(count + 1.0) - gammaln(np.where(inside, j, 0.0) + 1.0) - gammaln(gone + 1.0)
    with np.errstate(under="ignore"):
        p = np.exp(np.where(inside, choose - j * x + gone * log_gone, -np.inf))
    if low > 0:
        p[:, 0] += np.maximum(1.0 - p.sum(axis=1), 0.0) * (count[:, 0] <= high)
    return np.asarray(p, dtype=float)


def top_share(p: Floats) -> float:
    """Stationary probability of the last state of a chain that goes up by one at most.

    The states are eliminated from the top; state n is entered from n - 1 only, so that one row changes. Then
    pi_n (rate down from n) = pi_{n-1} p_{n-1,n}.
    """
    rows = p.copy()
    n = len(rows)
    log_ratio = np.zeros(n)  # ln pi_n / pi_{n-1}
    for top in range(n - 1, 0, -1):
        down = float(rows[top, :top].sum())
        up = float(rows[top - 1, top])
        if up <= 0:  # too rare for a number
            return 0.0
        log_ratio[top] = math.log(up) - math.log(down)
        rows[top - 1, :top] += up * rows[top, :top] / down
    log_weight = np.cumsum(log_ratio)
    with np.errstate(under="ignore"):
        weight = np.exp(log_weight - log_weight.max())
    return float(weight[-1] / weight.sum())
