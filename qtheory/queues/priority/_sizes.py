"""Partial moments of a size law on a grid, and the two moments of a response that depends on the size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws.law import Law
from qtheory.queues.result import QueueResult
from qtheory.queues.single._common import all_atoms_of

from ._size_laws import RankedTime, Rule

__all__ = [
    "SizeGrid",
    "SizeQueue",
    "SizeResult",
    "Stretched",
    "given_size",
    "has_third_moment",
    "require_load_below_one",
    "solve_by_size",
]

Floats = NDArray[np.float64]

_NODES = 16
_WIDEST = 0.26  # logarithm of the ratio of the ends of a panel
_LOGITS = np.concatenate([np.arange(-27, -3, 3.0), np.arange(-3, 3.01, 0.5), np.arange(6, 36, 3.0)])


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """On [-1, 1]: nodes, weights, matrices of integrals from -1 and of derivatives, the value at 1."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    basis = np.polynomial.legendre.legvander(node, _NODES - 1)  # (node, degree)
    fit = np.linalg.inv(basis)
    eye = np.eye(_NODES)
    integral = np.stack(
        [np.polynomial.legendre.legval(node, np.polynomial.legendre.legint(e, lbnd=-1)) for e in eye], 1
    )
    slope = np.stack([np.polynomial.legendre.legval(node, np.polynomial.legendre.legder(e)) for e in eye], 1)
    return node, weight, integral @ fit, slope @ fit, fit.sum(axis=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeGrid:
    """Sizes x with what lies below them; a sum with ``weight`` is an expectation over the size.

    ``below[k]`` is E[S^k; S < x], ``upto[k]`` the same with S = x included, ``capped[k]`` is E[min(S, x)^k];
    k is 0 to 3.
    """

    x: Floats  # (n,)
    weight: Floats  # (n,)
    below: Floats  # (4, n)
    upto: Floats  # (4, n)
    sf: Floats  # (n,)
    capped: Floats  # (4, n)
    edges: Floats | None  # (m+1,) ends of the panels; None for a law of atoms

    @classmethod
    def of(cls, law: Law, *, stops: tuple[float, ...] = ()) -> SizeGrid:
        """The grid of a law; panels end at ``stops``, or they are sizes of probability 0 among the atoms."""
        atoms = all_atoms_of(law)
        if atoms is None:
            return _continuous(law, stops)
        values = np.union1d(atoms[0], np.array(stops))
        probs = np.zeros(values.size)
        probs[np.searchsorted(values, atoms[0])] = atoms[1]
        return _atomic(values, probs)

    def at(self, values: Floats, size: float) -> float:
        """The value at a stop."""
        if self.edges is None:
            return float(values[np.searchsorted(self.x, size)])
        panel = int(np.searchsorted(self.edges, size * (1 - 1e-9))) - 1
        return float(_rules()[4] @ values.reshape(-1, _NODES)[panel])

    def integral_to(self, density: Floats) -> Floats:
        """Integral of ``density`` from 0 to each size; between atoms the value of the upper one holds."""
        if self.edges is None:
            return np.asarray(np.cumsum(np.diff(self.x, prepend=0.0) * density))
        inner = (density * self.x).reshape(-1, _NODES)
        return np.asarray(_cumulative(inner, np.diff(np.log(self.edges)) / 2) + density[0] * self.edges[0])


def _cumulative(values: Floats, half: Floats) -> Floats:
    """Integrals over u from the first panel's start to every node, values (m, nodes)."""
    _, weight, integral, _, _ = _rules()
    whole = (values @ weight) * half
    before = np.concatenate([[0.0], np.cumsum(whole)[:-1]])
    return np.asarray((before[:, None] + (values @ integral.T) * half[:, None]).ravel())


def _atomic(values: Floats, probs: Floats) -> SizeGrid:
    powers = values ** np.arange(4.0)[:, None]  # (4, n)
    upto = np.cumsum(powers * probs, axis=1)
    below = upto - powers * probs
    sf = np.maximum(1 - upto[0], 0.0)
    sf[-1] = 0.0
    return SizeGrid(
        x=values, weight=probs, below=below, upto=upto, sf=sf, capped=upto + powers * sf, edges=None
    )


def _continuous(law: Law, stops: tuple[float, ...]) -> SizeGrid:
    node, weight, _, slope, _ = _rules()
    edges = _edges(law, stops)
    half = np.diff(np.log(edges)) / 2
    x = np.exp(np.log(edges[:-1])[:, None] + half[:, None] * (1 + node))  # (m, nodes)
    sf = np.asarray(law.sf(x))
    mass = -(sf @ slope.T) * weight  # (m, nodes), the half widths cancel
    mass[0, 0] += 1 - float(law.sf(float(edges[0])))  # what lies below the grid
    flat, tail = x.ravel(), sf.ravel()
    capped = np.ones((4, flat.size))
    for k in (1, 2, 3):
        capped[k] = _cumulative(k * x**k * sf, half) + edges[0] ** k
    upto = capped - flat ** np.arange(4)[:, None] * tail
    grid = SizeGrid(x=flat, weight=mass.ravel(), below=upto, upto=upto, sf=tail, capped=capped, edges=edges)
    mean = float(grid.weight @ flat)
    if abs(mean - law.mean) > 1e-7 * law.mean or abs(capped[1, -1] - law.mean) > 1e-7 * law.mean:
        raise ConvergenceError(
            f"service: the grid of sizes gives a mean of {mean:.9g}, the law {law.mean:.9g}; "
            "a law with both atoms and a density is not covered"
        )
    return grid


def _edges(law: Law, stops: tuple[float, ...]) -> Floats:
    """Quantiles, the ends of the support and the stops, with panels short on a logarithmic scale."""
    low, high = law.support
    q = 1 / (1 + np.exp(-_LOGITS))
    points = np.asarray(law.ppf(q), dtype=float)
    top = high
    if math.isinf(high):
        top = float(points[-1])
        while top * law.sf(top) > 1e-14 * law.mean:
            top *= 2.0
    top = max(top, *stops) if stops else top
    bottom = max(low, 1e-10 * law.mean)
    bottom = min(bottom, *(stop / 2 for stop in stops)) if stops else bottom
    inner = [*points.tolist(), *stops]
    ends = sorted({bottom, top, *(p for p in inner if bottom * (1 + 1e-12) < p < top * (1 - 1e-12))})
    logs = [math.log(end) for end in ends]
    edges = [ends[0]]
    for i, end in enumerate(ends[1:]):
        pieces = math.ceil((logs[i + 1] - logs[i]) / _WIDEST)
        step = (logs[i + 1] - logs[i]) / pieces
        edges.extend(math.exp(logs[i] + k * step) for k in range(1, pieces))
        edges.append(end)
    return np.array(edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretched:
    """Two moments of the time that a work takes while arrivals of load and flow ``ahead`` go first.

    Parameters are arrays over the size: the ``ahead`` pair is (load, rate x E[S^2]) of those who go first,
    the ``equal`` triple the same with rate x E[S^3] of those whose work found counts, ``lower`` the pair
    (rate x E[L^2], rate x E[L^3]) of those that may be caught in the middle of L.
    """

    ahead: tuple[Floats, Floats]
    equal: tuple[Floats, Floats, Floats]
    lower: tuple[Floats, Floats]

    def found(self) -> tuple[Floats, Floats]:
        """Mean and variance of the work found."""
        left = 1 - self.equal[0]
        own = self.equal[1] / 2 / left
        lower = self.lower[0] / 2 / left
        return own + lower, own**2 + self.equal[2] / (3 * left) + self.lower[1] / (3 * left) - lower**2

    def moments(self, own: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """Mean and variance of the stretched work found plus a constant ``own`` work."""
        mean, var = self.found()
        left = 1 - self.ahead[0]
        mean = mean + own
        return mean / left, var / left**2 + mean * self.ahead[1] / left**3


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult(QueueResult):
    """Steady state under a rule that looks at sizes.

    Parameters
    ----------
    var_response_s2 : float or None
        Variance of the response over all customers, seconds squared; None if the third moment of the size is
        infinite.
    mean_slowdown : float or None
        Mean of response / size.
    """

    var_response_s2: float | None = None
    mean_slowdown: float | None = None


def has_third_moment(law: Law) -> bool:
    """Whether E[S^3] is finite: without it a grid would give a variance that its end decides."""
    try:
        law.moment(3)
    except ConfigError:
        return False
    return True


class SizeQueue(Protocol):
    """A model of one server that looks at sizes."""

    @property
    def rate_rps(self) -> float: ...
    @property
    def service(self) -> Law: ...


def require_load_below_one(rate_rps: float, law: Law) -> float:
    """The load; `UnstableError` if it is 1 or more."""
    if (load := rate_rps * law.mean) >= 1:
        raise UnstableError(
            f"rate_rps={rate_rps:g} is not below {1 / law.mean:g}, what the server can do (load {load:g}); "
            "lower the rate or shorten the service"
        )
    return load


def given_size(
    rate_rps: float, law: Law, size_s: float, moments: Callable[[SizeGrid], tuple[Floats, Floats]]
) -> tuple[float, float]:
    """Conditional mean and variance at one size, on a grid that has it."""
    checks.positive(size_s=size_s)
    require_load_below_one(rate_rps, law)
    grid = SizeGrid.of(law, stops=(float(size_s),))
    mean, var = moments(grid)
    return grid.at(mean, size_s), grid.at(var, size_s) if np.all(np.isfinite(var)) else math.inf


def solve_by_size(
    queue: SizeQueue, grid: SizeGrid, moments: tuple[Floats, Floats], *, rule: Rule, route: str
) -> SizeResult:
    """Averages over the size of conditional means and variances."""
    mean, var = moments
    rate_rps, law = queue.rate_rps, queue.service
    mean_response_s = float(grid.weight @ mean)
    second = float(grid.weight @ (var + mean**2))
    load = rate_rps * law.mean
    var_s2 = second - mean_response_s**2 if has_third_moment(law) else None
    return SizeResult(
        exactness="exact",
        route=route,
        utilization_frac=load,
        mean_wait_s=None,
        mean_response_s=mean_response_s,
        mean_number=rate_rps * mean_response_s,
        prob_empty=1 - load,
        response=RankedTime(
            rate_rps=rate_rps, law=law, rule=rule, mean_s=mean_response_s, variance_s2=var_s2
        ),
        var_response_s2=var_s2,
        mean_slowdown=float(grid.weight @ (mean / grid.x)),
    )
