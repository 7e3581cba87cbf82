"""What arrivals find in G/M/c below c - 1, from the chain of the number found: sums of positive terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.special import betainc, ndtr

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Law
from qtheory.queues.single._common import all_atoms_of

__all__ = ["FoundInService"]

Floats = NDArray[np.float64]

_STEP, _EDGE = 0.1, 8.2  # normal scores of the interval
_PANELS = np.array([0.0, 0.01, 0.1, 0.3, 0.6, 1.0])  # of an interval
_FALL = np.array([0.5, 2.0, 5.0, 11.0, 22.0, 42.0])  # of the queue, in mean times to work it off
_NODES = 12
_MOST_VALUES = 6_000_000
_NOTHING = 1e-19
_CHECK = 1e-7
_LONG = 20.0  # mean services in which all leave, but for rounding


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundInService:
    r"""P(an arrival finds n), :math:`\pi_n`, n < c, and with it P(n present) over time.

    From one arrival to the next the number rises by one at most. So the chain goes up across n as often as
    down: :math:`\pi_nE[e^{-(n+1)\mu A}]=\sum_{i>n}\pi_iP(i\to\le n)`, from the top, where it is geometric.
    To about 1e-11; probabilities far below that have fewer digits.
    """

    interval: Law
    service_rate_rps: float
    n_servers: int
    prob_wait: float
    sigma: float

    def present(self, n: int) -> float:
        """P(n present) over time: as often as n - 1 are found, n are left."""
        lam, mu, c = 1.0 / self.interval.mean, self.service_rate_rps, self.n_servers
        if n < 0:
            return 0.0
        if n == 0:
            return self._nobody
        found = self.found[min(n, c) - 1] * self.sigma ** max(n - c, 0)
        return float(found) * lam / (min(n, c) * mu)

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        """Intervals, in mean services, and their probabilities."""
        atoms = all_atoms_of(self.interval)
        if atoms is not None:
            return atoms[0] * self.service_rate_rps, atoms[1]
        y = np.arange(-_EDGE, _EDGE, _STEP)
        weight = np.exp(-0.5 * y * y)
        return np.asarray(self.interval.ppf(ndtr(y))) * self.service_rate_rps, weight / weight.sum()

    @cached_property
    def _from_top(self) -> tuple[Floats, Floats]:
        """From c - 1 or more found: time left, in mean services, when just c are present; its weight."""
        c, (time, share) = self.n_servers, self._points
        rate = c * (1.0 - self.sigma)  # at which the queue is worked off
        node, weight = legendre.leggauss(_NODES)
        when, chance = [time], [(1.0 - self.sigma) * share]
        for one, part in zip(time.tolist(), share.tolist(), strict=True):
            edges = np.union1d(one * _PANELS, np.maximum(one - _FALL / rate, 0.0))
            edges = edges[edges >= one - _FALL[-1] / rate]
            half = 0.5 * np.diff(edges)[:, None]
            left = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * node
            when.append(left.ravel())
            chance.append((part * rate * self.sigma * np.exp(-rate * (one - left)) * half * weight).ravel())
        whens, chances = np.concatenate(when), np.concatenate(chance)
        kept = chances > _NOTHING * chances.max()
        return whens[kept], chances[kept]

    @cached_property
    def found(self) -> Floats:
        """P(an arrival finds n), n = 0..c - 1."""
        c, (time, share) = self.n_servers, self._points
        if c * max(self._from_top[0].size, time.size * min(c, 100)) > _MOST_VALUES:
            raise ConvergenceError(
                f"number: its law takes too long for n_servers={c} and intervals of this law; "
                "waits and their laws are known"
            )
        pi = np.zeros(c)
        pi[-1] = self.prob_wait * (1.0 - self.sigma) / self.sigma
        top = pi[-1] / (1.0 - self.sigma)  # P(c - 1 or more)
        left, chance = self._from_top
        for j in range(c - 2, -1, -1):
            down = top * float(chance @ _at_most(j, c, left))
            for i in range(j + 1, c - 1):
                more = float(share @ _at_most(j, i + 1, time))
                down += pi[i] * more
                if more < _NOTHING:
                    break
            pi[j] = down / float(share @ np.exp(-(j + 1.0) * time))
        total = float(pi[:-1].sum()) + top
        if abs(total - 1.0) > _CHECK:
            raise ConvergenceError(f"P(n found) sums to {total:.9g}; the chain of the number found is off")
        return pi

    @cached_property
    def _nobody(self) -> float:
        """P(nobody present): of each interval, the part after all have left."""
        c, (time, share) = self.n_servers, self._points
        left, chance = self._from_top
        idle = self.found[-1] / (1.0 - self.sigma) * float(chance @ _empty_for(left, c)[:, -1])
        if c > 1:
            idle += float(share @ _empty_for(time, c - 1) @ self.found[:-1])
        return float(idle) / (self.service_rate_rps * self.interval.mean)


def _at_most(j: int, n: int, time: Floats) -> Floats:
    """P(at most j of n are still served), after times in mean services."""
    return np.asarray(betainc(n - j, j + 1.0, -np.expm1(-time)), dtype=float)


def _empty_for(time: Floats, most: int) -> Floats:
    r"""Mean time, up to ``time``, after the last of n has left, n = 1..most: the integral of
    :math:`(1-e^{-t})^n`, shape (time, most)."""
    node, weight = legendre.leggauss(40)
    n = np.arange(1, most + 1)
    found = np.empty((time.size, most))
    for i, one in enumerate(time.tolist()):
        if one > _LONG:
            found[i] = one - np.cumsum((-np.expm1(-one)) ** n / n)
        else:
            gone = -np.expm1(-0.5 * one * (1.0 + node))
            found[i] = 0.5 * one * (weight @ gone[:, None] ** n)
    return found
