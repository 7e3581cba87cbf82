"""How much the number of those who follow a request varies, where arrivals are bursty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .demand import Demand

__all__ = ["count_var", "unseen_var"]

Floats = NDArray[np.float64]

_PARTS = 256  # of each time


def count_var(following: Callable[[Floats], Floats], rate_rps: float, times_s: Floats) -> Floats:
    r"""Variance of the number that follows a request within each of ``times_s``, if gaps are independent.

    With :math:`M(t)=\lambda t+e(t)` that follow in the mean it is :math:`M+2M*dM-M^2` [1]_, so
    :math:`\lambda t+e+4\lambda\int_0^t e+2\int_0^t e(t-u)de(u)-2\lambda te-e^2`.

    Parameters
    ----------
    following : callable (array) -> array
        The excess :math:`e` within each of so many seconds.
    rate_rps : float
    times_s : array, shape (k,)

    References
    ----------
    .. [1] Cox (1962), "Renewal theory", chapter 4.
    """
    edges = np.linspace(0.0, 1.0, _PARTS + 1) * times_s[:, None]  # (k, parts + 1)
    within = following(edges.ravel()).reshape(edges.shape)
    middle = (within[:, 1:] + within[:, :-1]) / 2
    more = np.diff(within, axis=1)
    once, again = within[:, -1], (middle[:, ::-1] * more).sum(axis=1)
    area = middle.mean(axis=1) * times_s
    even = rate_rps * times_s
    return np.asarray(even + once + 4 * rate_rps * area + 2 * again - 2 * even * once - once**2)


def unseen_var(demand: Demand, rate_rps: float, since_s: float, times_s: Floats) -> Floats:
    """Variance (k,) of those who follow within ``times_s`` after the first ``since_s``, beyond that of the
    batches that stand for the arrivals while prompts queue."""
    if demand.following is None:
        return np.zeros_like(times_s)
    first, *until = count_var(demand.following, rate_rps, np.append(since_s, since_s + times_s))
    seen = rate_rps * times_s * demand.burstiness
    return np.asarray(np.maximum(np.array(until) - first - seen, 0.0))
