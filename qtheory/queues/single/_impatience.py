"""M/G/1 where nobody who would wait longer than d joins: the work below d, at any load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.laws.law import Law
from qtheory.numerics.inversion import invert_laplace
from qtheory.numerics.roots import bracketed_root, quantile

from .excess import Excess
from .workload import Workload, laws_of

__all__ = ["AcceptedWait", "SumTail", "UnlimitedWork"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_GAUSS, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(8)
_PANELS = 24
_MOSTLY_IN_TIME = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlimitedWork:
    r""":math:`H(x)=\sum_n\rho^nP(S_{e,1}+\dots+S_{e,n}\le x)`: below d the work has the law :math:`p_0H`.

    H grows like :math:`e^{\sigma x}` at a load above 1, :math:`\rho S_e^*(\sigma)=1`; it is inverted with
    that growth taken off. The terms n = 0 and 1, which have the kinks, are added in closed form.
    """

    rate_rps: float
    service: Law
    limit_s: float

    @property
    def load(self) -> float:
        return self.rate_rps * self.service.mean

    def below(self) -> tuple[float, float, float]:
        """H(d), the share turned away, and the mean wait of the others, seconds."""
        rho, d = self.load, self.limit_s
        if rho < 1:  # H is the law of the work without a limit, divided by P(V = 0)
            work = Workload(rate_rps=self.rate_rps, service=self.service)
            late = float(laws_of(work)[0].sf(d))
            if late < _MOSTLY_IN_TIME:  # else 1 - late loses digits
                total = (1 - late) / (1 - rho)
                scale = work.mean_s
                spent = scale * float(invert_laplace(lambda s: work.tail_lst(s) / (s * scale), d, worst=1e-5))
                return total, late / (1 + rho * total), (spent - d * late) / (1 - late)
        total = float(self.h(d))
        mean_wait_s = d - float(self._inverted(d, order=2)) / total
        return total, 1 - total / (1 + rho * total), mean_wait_s

    def h(self, x: ArrayLike) -> Floats:
        """H(x), for x >= 0."""
        points = np.asarray(x, dtype=float)
        value = np.where(points < 0, 0.0, 1.0)
        late = points > 0
        if np.any(late):
            value[late] = self._inverted(points[late], order=1)
        return value

    def _inverted(self, x: ArrayLike, *, order: int) -> Floats:
        """Inverse of the transform of H (order 1) or of its integral (order 2)."""
        excess, rho = Excess(law=self.service), self.load
        sigma = _growth(self.rate_rps, self.service)
        points = np.asarray(x, dtype=float)

        def rest(s: Complexes) -> Complexes:
            left = excess.lst(s + sigma)
            return (rho * left) ** 2 / (1 - rho * left) / (s + sigma) ** order

        scale = max(1.0, rho) * float(np.max(points)) ** (order - 1)
        grown = np.exp(sigma * points) * invert_laplace(
            lambda s: rest(s) / scale, points, tol=1e-11, worst=1e-5, max_terms=3072
        )
        if order == 1:
            return 1 + rho * (1 - excess.sf(points)) + scale * grown
        return points + rho * self._excess_room(points) + scale * grown

    def _excess_room(self, x: Floats) -> Floats:
        """Integral of P(S_e <= y) over y up to x: E[(x - S_e)+]."""
        law = self.service
        parts = [
            [law.moment_between(k, -1.0, y) for k in (1, 2)] + [law.sf(y)] for y in np.atleast_1d(x).tolist()
        ]
        first, second, above = np.array(parts).T
        y = np.atleast_1d(x)
        # E[min(S_e, y)] E[S] = E[S min(S, y) - min(S, y)^2 / 2]
        capped = second + y * (law.mean - first) - (second + y**2 * above) / 2
        return np.asarray(y - capped / law.mean).reshape(np.shape(x))


@lru_cache(maxsize=64)
def _growth(rate_rps: float, service: Law) -> float:
    """The rate sigma at which H grows, per second; 0 below a load of 1."""
    excess, rho = Excess(law=service), rate_rps * service.mean
    if rho <= 1:
        return 0.0

    def gap(s: Floats, which: NDArray[np.intp]) -> Floats:
        return rho * excess.lst(s.astype(np.complex128)).real - 1

    high = 1 / service.mean
    while gap(np.array([high]), np.zeros(1, dtype=np.intp))[0] > 0:
        high *= 2
    low = min(high / 2, (rho - 1) / (2 * rho * excess.mean_s))  # 1 - s E[S_e] lies below the transform
    return float(bracketed_root(gap, low, high, rtol=1e-10))


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedWait:
    """Law of the wait of those who join: H(t) / H(d) up to d."""

    work: UnlimitedWork
    total: float
    mean_s: float

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared, by Gauss-Legendre on the tail."""
        step = self.work.limit_s / _PANELS
        x = (step * (np.arange(_PANELS)[:, None] + 0.5 + 0.5 * _GAUSS)).ravel()
        weight = np.tile(_GAUSS_WEIGHTS * step / 2, _PANELS)
        return float(2 * weight @ (x * self.sf(x))) - self.mean_s**2

    def sf(self, t: ArrayLike) -> Floats:
        """P(W > t)."""
        times = np.asarray(t, dtype=float)
        inside = (times >= 0) & (times < self.work.limit_s)
        tail = np.where(times < 0, 1.0, 0.0)
        if np.any(inside):
            tail[inside] = np.clip(1 - self.work.h(times[inside]) / self.total, 0.0, 1.0)
        return tail

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(W <= t) >= q."""
        d = self.work.limit_s
        return quantile(lambda t: self.sf(np.minimum(t, d)), q, scale=d / 10, rtol=1e-10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumTail:
    """A time that is a service after a wait with an atom at 0 and masses at points."""

    service: Law
    empty_frac: float
    point: Floats
    mass: Floats
    wait: AcceptedWait

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return self.wait.mean_s + self.service.mean

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.wait.var_s2 + self.service.var

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t)."""
        times = np.asarray(t, dtype=float)
        late = times[..., None] - self.point
        tail = np.where(late < 0, 1.0, self.service.sf(np.maximum(late, 0.0))) @ self.mass
        return np.where(times < 0, 1.0, tail + self.empty_frac * self.service.sf(np.maximum(times, 0.0)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(T <= t) >= q."""
        return quantile(self.sf, q, scale=self.mean_s, rtol=1e-10)
