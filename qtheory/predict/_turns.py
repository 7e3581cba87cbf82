"""When one that comes gets its turn: behind prompts that go first, and perhaps when another one ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

__all__ = ["Turns"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_TINY = 1e-250


@dataclass(frozen=True, eq=False, kw_only=True)
class Turns:
    r"""Seconds (nodes, n) until the turn of one with so many cells ahead, by the number running.

    Prompts ahead are a fluid. Places get free at the ends of others, taken as a Poisson process. That those
    ahead stayed says that the ends until theirs come in time, so of those that need :math:`k` a share
    :math:`F_k(t)/F_{k-1}(t)` gets a place in time, where :math:`F_k` is the law of a sum of :math:`k`
    exponential times, below the line in the mean over the times :math:`t` of all. The product is the law
    :math:`\rho^kF_k(t)` of those that wait and are served in M/M/n with a deadline [1]_.

    References
    ----------
    .. [1] Barrer (1957), "Queuing with impatient customers and ordered service", Operations Research 5,
       650-656.
    """

    open_s: Floats  # if there is always a place
    ends: Floats  # of others until there is one; 0 if there is one
    end_s: float  # between two of them

    def within(self, left_s: Floats, probs: Floats) -> Floats:
        """P(a place is free) (..., g) within what each kind (g,) has left, if those ahead get theirs."""
        waits = (self.ends > 0)[..., None]
        left = np.maximum(left_s, 0.0) / self.end_s
        those_ahead = np.where(
            self.ends > 1, gammainc(np.maximum(self.ends - 1, _TINY)[..., None], left) @ probs, 1.0
        )
        own = gammainc(np.where(waits, self.ends[..., None], 1.0), left)
        return np.where(waits, np.minimum(own / np.maximum(those_ahead, _TINY)[..., None], 1.0), left_s >= 0)

    def waits(self, most_s: Floats, levels: Floats) -> Floats:
        """Quantiles (levels, nodes, n) of the wait for a place if it is not longer than ``most_s``."""
        ends = np.maximum(self.ends, 1e-9)
        below = gammainc(ends, np.maximum(most_s, 0.0) / self.end_s)
        shape = (len(levels), *([1] * below.ndim))
        return np.asarray(gammaincinv(ends, below * levels.reshape(shape)) * self.end_s)

    def at(self, *place: Ints | NDArray[np.bool_]) -> Turns:
        """Those at some of the nodes, or of pairs of a node and a cell."""
        return Turns(open_s=self.open_s[place], ends=self.ends[place], end_s=self.end_s)
