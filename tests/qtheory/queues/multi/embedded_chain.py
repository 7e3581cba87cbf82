"""A second route to P(wait) in G/M/c: the chain of the number found, its states eliminated from the top."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, roots_legendre

from qtheory.laws import Constant, Law

__all__ = ["prob_wait_by_chain"]

Floats = NDArray[np.float64]


def prob_wait_by_chain(interval: Law, n_servers: int, sigma: float) -> float:
    """P(wait) for exponential servers of rate 1 and not too many of them, given the ratio sigma."""
    rows = np.zeros((n_servers, n_servers))  # from n found to m found next; the last is c - 1 and above
    found = np.arange(n_servers - 1)
    for time, share in zip(*_points(interval), strict=True):
        rows[:-1] += share * _left(found + 1, n_servers, np.full(found.size, time))
        rows[-1] += share * _left_from_top(n_servers, sigma, float(time))
    log_ratio = np.zeros(n_servers)  # of the stationary weights of neighbours
    for top in range(n_servers - 1, 0, -1):
        down = rows[top, :top].sum()
        log_ratio[top] = np.log(rows[top - 1, top] / down)
        rows[top - 1, :top] += rows[top - 1, top] * rows[top, :top] / down
    weight = np.exp(np.cumsum(log_ratio) - np.cumsum(log_ratio).max())
    return float(weight[-1] / weight.sum()) * sigma


def _points(interval: Law) -> tuple[Floats, Floats]:
    if isinstance(interval, Constant):
        return np.array([interval.mean]), np.ones(1)
    y = np.arange(-8.2, 8.2, 0.1)
    weight = np.exp(-0.5 * y * y)
    return np.asarray(interval.ppf(ndtr(y)), dtype=float), weight / weight.sum()


def _left(n: NDArray[np.intp], n_servers: int, decay: Floats) -> Floats:
    """P(j of n[i] are still served after ``decay[i]`` mean services), j = 0..c-1."""
    count, j, x = n[:, None].astype(float), np.arange(float(n_servers)), decay[:, None]
    gone = np.maximum(count - j, 0.0)
    choose = gammaln(count + 1) - gammaln(np.minimum(j, count) + 1) - gammaln(gone + 1)
    return np.where(j <= count, np.exp(choose - j * x + gone * np.log(-np.expm1(-x))), 0.0)


def _left_from_top(n_servers: int, sigma: float, decay: float) -> Floats:
    """From c - 1 and above (geometric): k leave one by one at full rate, then each of c for itself."""
    node, share = roots_legendre(48)
    edges = decay * np.array([0.0, 0.01, 0.1, 0.3, 1.0])
    half = 0.5 * np.diff(edges)[:, None]
    after = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * node).ravel()
    density = n_servers * sigma * np.exp(-n_servers * (1 - sigma) * (decay - after)) * (half * share).ravel()
    chances = _left(np.full(after.size + 1, n_servers), n_servers, np.append(after, decay))
    return np.asarray((1 - sigma) * (chances[-1] + density @ chances[:-1]))
