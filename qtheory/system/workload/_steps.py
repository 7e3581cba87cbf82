"""Rates that change in steps: from the work of a clock to the moments at which it is done."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["moments_of_work"]

Floats = NDArray[np.float64]


def moments_of_work(work: Floats, lengths_s: Floats, rates: Floats) -> Floats:
    """Where the integral of a step function from 0 reaches each of ``work``, seconds.

    Parameters
    ----------
    work : array of float
        Shape (n,), >= 0, at most the whole integral.
    lengths_s, rates : array of float
        Shape (m,): how long each step lasts, and its height >= 0. Nothing is done in steps of height 0.

    Examples
    --------
    >>> moments_of_work(np.array([1.0, 2.5]), np.array([2.0, 9.0, 1.0]), np.array([1.0, 0.0, 2.0])).tolist()
    [1.0, 11.25]
    """
    done = np.concatenate([[0.0], np.cumsum(lengths_s * rates)])  # (m+1,) at the edges of the steps
    edges_s = np.concatenate([[0.0], np.cumsum(lengths_s)])  # (m+1,)
    last = int(np.flatnonzero(rates)[-1])
    step = np.minimum(np.searchsorted(done, work, side="right") - 1, last)  # (n,) never one of height 0
    moments: Floats = edges_s[step] + (work - done[step]) / rates[step]
    return moments
