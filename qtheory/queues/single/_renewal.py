"""Renewal arrivals at exponential servers: the rate of the wait and the chance of waiting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws import Constant, Law, Pareto
from qtheory.numerics.roots import bracketed_root

from .excess import Excess

__all__ = ["RenewalArrivals"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_EACH = 1024  # up to here every value of the transform is computed; above it is interpolated
_SPREAD = 3.0  # ratio of the ends of a panel of interpolation
_NODES = 26
_SETTLED = 1e-12
_TOGETHER = 3e-5  # relative distance to the root within which the quotient is taken on both sides


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalArrivals:
    """G/M/c without the checks: intervals, the rate of a busy server, servers."""

    interval: Law
    service_rate_rps: float
    n_servers: int

    @property
    def load_frac(self) -> float:
        """Share of the servers that is busy."""
        return 1.0 / (self.interval.mean * self.service_rate_rps * self.n_servers)

    def excess_lst(self, s: Floats) -> Floats:
        """E[exp(-s A_e)], A_e what is left of an interval; its mean may be infinite."""
        law = self.interval
        if isinstance(law, Pareto) and law.high is None:  # uniform below the least, a heavier tail above
            beyond = Pareto(alpha=law.alpha - 1.0, low=law.low).lst(s)
            return np.asarray(
                (beyond - (law.alpha - 1.0) * np.expm1(-s * law.low) / (s * law.low)) / law.alpha
            )
        try:
            return np.asarray(Excess(law=law).lst(s.astype(np.complex128)).real)
        except ConfigError:  # no second moment
            return np.asarray((1.0 - law.lst(s)) / (s * law.mean))

    def wait_rate_per_s(self) -> float:
        """s = c mu (1 - sigma), the root of E[exp(-s A_e)] = load."""
        load, top = self.load_frac, self.n_servers * self.service_rate_rps

        def gap(s: Floats, which: Indices) -> Floats:
            return self.excess_lst(s) - load

        low = top
        while gap(np.array([low]), np.zeros(1, dtype=np.intp))[0] <= 0:
            low *= 0.125
            if low < 1e-30 * top:
                raise ConvergenceError(
                    f"interval: {self.interval} at load {load:.12g} has no root of its transform in sight"
                )
        return float(bracketed_root(gap, low, min(8.0 * low, top), rtol=1e-14)) if low < top else top

    def prob_wait(self, wait_rate_per_s: float) -> float:
        """P(an arrival finds all servers busy), given the root.

        In logarithms; the product is summed in extended precision because it cancels against the binomials.
        """
        c, root = self.n_servers, wait_rate_per_s / self.service_rate_rps  # c (1 - sigma)
        j = np.arange(1.0, c + 1.0)
        log_pass, log_left = self._logs(j)
        log_stop = np.log(j / (c * self.load_frac)) + log_left  # 1 - phi = s E[A] E[exp(-s A_e)]
        steps = np.log((c - j + 1.0) / j) + log_stop - log_pass
        log_terms = np.cumsum(steps, dtype=np.longdouble).astype(float) - log_stop
        log_terms += np.log(root / c * self._quotient(j, root, np.exp(log_left)))
        top = max(float(log_terms.max()), 0.0)
        if math.isinf(top):
            return 0.0  # too rare for a number
        with np.errstate(under="ignore"):
            return math.exp(-top) / (math.exp(-top) + float(np.exp(log_terms - top).sum()))

    def _logs(self, j: Floats) -> tuple[Floats, Floats]:
        """ln E[exp(-j mu A)] and ln E[exp(-j mu A_e)], interpolated in ln j beyond the first thousand."""
        found = [self._logs_at(j[:_EACH])]
        n_panels = math.ceil(math.log(len(j) / _EACH) / math.log(_SPREAD))
        edges = np.geomspace(_EACH, len(j), n_panels + 1) if n_panels > 0 else np.empty(0)
        node = chebyshev.chebpts1(_NODES)
        for low, high in pairwise(edges.tolist()):
            inside = j[math.floor(low + 1e-6) : math.floor(high + 1e-6)]
            centre, half = 0.5 * math.log(low * high), 0.5 * math.log(high / low)
            series = chebyshev.chebfit(node, self._logs_at(np.exp(centre + half * node)).T, _NODES - 1)
            if np.all(np.abs(series[-3:]).max(axis=0) <= _SETTLED * np.abs(series).max(axis=0)):
                found.append(
                    np.asarray(chebyshev.chebval((np.log(inside) - centre) / half, series), dtype=float)
                )
            else:
                found.append(self._logs_at(inside))
        both = np.hstack(found)
        return both[0], both[1]

    def _logs_at(self, j: Floats) -> Floats:
        s = j * self.service_rate_rps
        if isinstance(self.interval, Constant):
            log_pass = -s * self.interval.mean
        else:
            with np.errstate(divide="ignore"):  # a transform may be too small for a number
                log_pass = np.log(self.interval.lst(s))
        return np.array([log_pass, np.log(self.excess_lst(s))])

    def _quotient(self, j: Floats, root: float, left: Floats) -> Floats:
        """(c (1 - phi_j) - j) / (root - j), from the mean of both sides where j is next to the root."""
        near = np.abs(j - root) < _TOGETHER * root
        found = j * (left / self.load_frac - 1.0) / np.where(near, 1.0, root - j)
        if near.any():
            x = root * np.array([1.0 - _TOGETHER, 1.0 + _TOGETHER])
            sides = x * (self.excess_lst(x * self.service_rate_rps) / self.load_frac - 1.0) / (root - x)
            found[near] = sides.mean()
        return np.asarray(found, dtype=float)
