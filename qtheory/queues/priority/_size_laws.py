r"""Laws of the response under rules that look at sizes, from their transforms given the size.

With :math:`a_x(\sigma)` for the work that goes before a customer of size x, the stretched variable solves
:math:`\sigma-a_x(\sigma)=s`. The work found and the own work then give, for preemptive shortest job first,
:math:`E[e^{-sT(x)}]=(1-\rho_x)\frac\sigma se^{-\sigma x}`, and the like for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws.law import Law
from qtheory.numerics.inversion import invert_laplace
from qtheory.numerics.roots import quantile
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.single._common import all_atoms_of

__all__ = ["RankedTime", "Rule", "law_given_size"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Rule = Literal["srpt", "psjf", "sjf", "las"]

_LEVELS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6)
_SIZES, _BETWEEN = 8, 5  # Gauss-Legendre nodes for the size in a level, and between two sizes
_NEWTON = 60
_TOL = 3e-6


def _gauss(n: int, low: float, high: float) -> tuple[Floats, Floats]:
    node, weight = np.polynomial.legendre.leggauss(n)
    return low + (high - low) * (0.5 + 0.5 * node), (high - low) / 2 * weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ladder:
    """Sizes in increasing order, with quadrature points of the size law below and between them."""

    rate_rps: float
    law: Law
    rule: Rule
    sizes: Floats  # (m,)
    y: Floats  # (n,) points of the size law
    mass: Floats  # (n,)
    strictly: NDArray[np.intp]  # (m,) points below each size
    weakly: NDArray[np.intp]  # (m,) points up to each size

    @classmethod
    def of(cls, rate_rps: float, law: Law, rule: Rule, sizes: Floats) -> _Ladder:
        """Points between consecutive sizes, or the atoms."""
        atoms = all_atoms_of(law)
        if atoms is not None:
            y, mass = atoms
            side = [np.searchsorted(y, sizes, side=s) for s in ("left", "right")]
            return cls(
                rate_rps=rate_rps,
                law=law,
                rule=rule,
                sizes=sizes,
                y=y,
                mass=mass,
                strictly=side[0],
                weakly=side[1],
            )
        levels = np.concatenate([[0.0], np.asarray(law.cdf(sizes), dtype=float)])
        parts = [_gauss(_BETWEEN, a, b) for a, b in pairwise(levels.tolist())]
        y = np.concatenate([np.asarray(law.ppf(q), dtype=float) for q, _ in parts])
        mass = np.concatenate([w for _, w in parts])
        count = _BETWEEN * np.arange(1, sizes.size + 1)
        return cls(
            rate_rps=rate_rps, law=law, rule=rule, sizes=sizes, y=y, mass=mass, strictly=count, weakly=count
        )

    def _ahead(self, sigma: Complexes, k: int, n: int) -> tuple[Complexes, Complexes]:
        """a(sigma) and its derivative, from the first n points (and those capped at size k for ``las``)."""
        lam, y, mass = self.rate_rps, self.y[:n], self.mass[:n]
        decay = np.exp(-sigma[:, None] * y) * mass
        value = np.asarray(lam * (mass.sum() - decay.sum(axis=1)), dtype=np.complex128)
        slope = np.asarray(lam * (decay @ y), dtype=np.complex128)
        if self.rule == "las":
            x, above = self.sizes[k], 1 - mass.sum()
            cut = np.exp(-sigma * x)
            value, slope = value + lam * above * (1 - cut), slope + lam * above * x * cut
        return value, slope

    def _stretched(self, s: Complexes, k: int, start: Complexes) -> Complexes:
        """The root of sigma - a(sigma) = s by Newton's method, from the root for the size before."""
        sigma = start
        for _ in range(_NEWTON):
            value, slope = self._ahead(sigma, k, int(self.strictly[k]))
            step = (sigma - value - s) / (1 - slope)
            sigma = sigma - step
            if np.all(np.abs(step) <= 1e-13 * (np.abs(sigma) + np.abs(s))):
                return sigma
        raise ConvergenceError(f"size {self.sizes[k]:g}: no stretched variable after {_NEWTON} steps")

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """E[exp(-s T(x))] at every size, (m, k), and the chance of not being delayed at all, (m,)."""
        lam, x = self.rate_rps, self.sizes
        sigma, lived = s.copy(), np.zeros(s.shape, dtype=np.complex128)
        last_x, last, quiet, rows, alone = 0.0, s, 0.0, [], []
        for k in range(x.size):
            sigma = self._stretched(s, k, sigma)
            n = int(self.weakly[k])
            below, load = self.mass[:n].sum(), lam * float(self.mass[:n] @ self.y[:n])
            above = 1 - below
            calm = lam * float(self.mass[: int(self.strictly[k])].sum())
            if self.rule == "srpt":  # the residence, step by step, as the work left comes down
                before = (
                    sigma if self.weakly is not self.strictly else (sigma + last) / 2
                )  # constant between atoms
                lived = lived + (x[k] - last_x) * before
                quiet += (x[k] - last_x) * calm
            found, idle = self._found(sigma, k, n, load, above)
            own = {"srpt": lived, "psjf": sigma * x[k], "las": sigma * x[k], "sjf": s * x[k]}[self.rule]
            silence = {"srpt": quiet, "psjf": calm * x[k], "las": lam * x[k], "sjf": 0.0}[self.rule]
            rows.append(found * np.exp(-own))
            alone.append(idle * np.exp(-silence))
            last_x, last = x[k], sigma
        return np.array(rows), np.array(alone)

    def _found(self, sigma: Complexes, k: int, n: int, load: float, above: float) -> tuple[Complexes, float]:
        """Transform of the work found, and the chance that there is none."""
        lam, x = self.rate_rps, float(self.sizes[k])
        value = self._ahead(sigma, k, n)[0]
        left = sigma - value
        if self.rule == "sjf":
            idle = 1 - lam * self.law.mean
            return (idle * sigma + lam * (1 - self.law.lst(sigma)) - value) / left, idle
        idle = 1 - load - (0.0 if self.rule == "psjf" else lam * above * x)
        caught = lam * above * (1 - np.exp(-sigma * x)) if self.rule == "srpt" else 0.0
        return (idle * sigma + caught) / left, idle


class _Queue(Protocol):
    @property
    def rate_rps(self) -> float: ...
    @property
    def service(self) -> Law: ...


def law_given_size(
    queue: _Queue, rule: Rule, size_s: float, moments: tuple[float, float | None]
) -> TransformLaw:
    """Law of the response of a customer of one size, by inversion."""
    steps = 48 if rule == "srpt" else 6
    path = size_s * np.linspace(0, 1, steps + 1)[1:]
    ladder = _Ladder.of(queue.rate_rps, queue.service, rule, path)
    alone = float(ladder.transforms(np.array([1.0 / size_s + 0j]))[1][-1])

    def tail_lst(s: Complexes) -> Complexes:
        flat = np.asarray(s, dtype=np.complex128).ravel()
        value = ladder.transforms(flat)[0][-1]
        return np.asarray(
            ((1 - value) / flat - alone * (1 - np.exp(-flat * size_s)) / flat).reshape(np.shape(s))
        )

    return TransformLaw(
        tail_lst=tail_lst,
        mean_s=moments[0],
        variance_s2=moments[1],
        known_tail=lambda t: np.where(t < size_s, alone, 0.0),
        tol=_TOL,
        worst=1e-3,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTime:
    """Law of the response over all customers: tails to about 1e-5, percentiles to about 1e-4.

    A response is at least the size, so larger sizes are late for sure; the smaller ones are averaged and
    inverted. One tail takes some 50 to 200 ms. With atoms the jumps at sums of sizes are not resolved.
    """

    rate_rps: float
    law: Law
    rule: Rule
    mean_s: float
    variance_s2: float | None

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        if self.variance_s2 is None:
            raise ConfigError("variance: infinite, since a moment of the service is")
        return self.variance_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        return np.array([self._tail(x) for x in times.ravel().tolist()]).reshape(times.shape)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        return quantile(self.sf, q, scale=self.mean_s, rtol=1e-5, noise=_TOL)

    def _tail(self, t: float) -> float:
        if t <= self.law.support[0]:
            return 1.0
        sizes, weight = self._sizes_below(t)
        ladder = _Ladder.of(self.rate_rps, self.law, self.rule, sizes)
        s0 = np.array([1.0 / t + 0j])
        alone = ladder.transforms(s0)[1] * weight

        def late(s: Complexes) -> Complexes:
            flat = np.asarray(s, dtype=np.complex128).ravel()
            value = weight @ (1 - ladder.transforms(flat)[0])
            known = alone.sum() - np.exp(-flat[:, None] * sizes) @ alone
            return np.asarray(((value - known) / flat).reshape(np.shape(s)))

        rest = float(
            invert_laplace(late, t, tol=_TOL, worst=1e-2 if all_atoms_of(self.law) else 1e-3, max_terms=192)
        )
        return float(np.clip(self.law.sf(t) + rest, 0.0, 1.0))

    def _sizes_below(self, t: float) -> tuple[Floats, Floats]:
        """Sizes up to t and their probabilities."""
        atoms = all_atoms_of(self.law)
        if atoms is not None:
            inside = atoms[0] <= t
            return atoms[0][inside], atoms[1][inside]
        top = float(self.law.cdf(t))
        levels = [level for level in _LEVELS if level < top]
        parts = [_gauss(_SIZES, a, b) for a, b in zip(levels, [*levels[1:], top], strict=True)]
        q = np.concatenate([nodes for nodes, _ in parts])
        return np.asarray(self.law.ppf(q), dtype=float), np.concatenate([w for _, w in parts])
