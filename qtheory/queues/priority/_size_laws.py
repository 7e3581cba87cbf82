"""Laws of the response under rules that look at sizes, by inversion of the transforms given the size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.inversion import invert_laplace, invert_smooth
from qtheory.numerics.timelaw import ShiftedLaw, TransformLaw
from qtheory.queues.single._common import all_atoms_of

from ._ladders import Ladder, Rule, dense_ladder, ladder_of
from ._search import KnownPoints

__all__ = ["RankedTime", "RankedWait", "Rule", "all_sizes", "law_given_size"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_TOL, _SLACK = 3e-6, 1e-7
_MANY_LARGER = 2e-3
_TOP = 1 - 1e-10  # level of the largest size that counts in a wait


class _Queue(Protocol):
    @property
    def rate_rps(self) -> float: ...
    @property
    def service(self) -> Law: ...


def law_given_size(
    queue: _Queue, rule: Rule, size_s: float, moments: tuple[float, float | None]
) -> ShiftedLaw:
    """Law of the response of a customer of one size: the size and a delay, by inversion."""
    ladder = ladder_of(queue.rate_rps, queue.service, rule, size_s)
    alone = float(ladder.transforms(np.array([1.0 / size_s + 0j]))[1][-1])

    def tail_lst(s: Complexes) -> Complexes:
        flat = np.asarray(s, dtype=np.complex128).ravel()
        return np.asarray(((1 - ladder.transforms(flat)[0][-1]) / flat).reshape(np.shape(s)))

    delay = TransformLaw(
        tail_lst=tail_lst,
        mean_s=max(moments[0] - size_s, 0.0),
        variance_s2=moments[1],
        prob_positive=1 - alone,
        tol=_TOL,
        worst=1e-3,
    )
    return ShiftedLaw(law=delay, shift_s=size_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTime:
    """Law of the response over all customers: tails to about 1e-5, percentiles to about 1e-4.

    A response is at least the size, so larger sizes are late for sure; the smaller ones are averaged and
    inverted. Tails that have been computed are kept, and later percentiles start from them. With atoms the
    jumps at sums of sizes are not resolved.
    """

    rate_rps: float
    law: Law
    rule: Rule
    mean_s: float
    variance_s2: float | None
    _known: KnownPoints = field(default_factory=KnownPoints, init=False, repr=False, compare=False)

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
        levels, low = np.asarray(q, dtype=float), max(self.law.support[0], 0.0)
        found = [
            self._known.quantile(self._tail, x, low=low, scale=self.mean_s, slack=_SLACK)
            for x in levels.ravel().tolist()
        ]
        return np.array(found).reshape(levels.shape)

    def _tail(self, t: float) -> float:
        if t <= 0 or t < self.law.support[0] or float(self.law.cdf(t)) <= 0:
            return 1.0
        is_atomic = all_atoms_of(self.law) is not None
        if not is_atomic and float(self.law.sf(t)) > _MANY_LARGER:
            value = self._tail_among_sizes(t)
        else:
            value = self._tail_beyond_sizes(t, worst=1e-2 if is_atomic else 1e-3)
        return float(np.clip(value, 0.0, 1.0))

    def _tail_among_sizes(self, t: float) -> float:
        """Where many are larger than t: the mixture is smooth, its transform is resolved in the size."""
        ladder = dense_ladder(self.rate_rps, self.law, self.rule, t)
        sizes, weight = ladder.sizes[:, None], ladder.weight

        def late(s: Complexes) -> Complexes:
            given = ladder.transforms(s)[0] * np.exp(-s * sizes)
            return np.asarray((1 - (weight[:, None] * given).sum(axis=0)) / s)

        return invert_smooth(late, t)

    def _tail_beyond_sizes(self, t: float, *, worst: float) -> float:
        """Larger sizes are late for sure; the smaller ones are inverted one by one, without their jumps."""
        ladder = ladder_of(self.rate_rps, self.law, self.rule, t)
        sizes, weight = ladder.sizes[:, None], ladder.weight

        def late(s: Complexes) -> Complexes:
            flat = np.asarray(s, dtype=np.complex128).ravel()
            given, alone = ladder.transforms(flat)
            start = np.exp(-flat * sizes)
            value = (1 - given * start) - alone[:, None] * (1 - start)
            return np.asarray(((weight[:, None] * value).sum(axis=0) / flat).reshape(np.shape(s)))

        rest = float(invert_laplace(late, t, tol=_TOL, worst=worst, max_terms=192))
        return float(self.law.sf(t)) + rest


def all_sizes(rate_rps: float, law: Law) -> Callable[[], Ladder]:
    """The sizes of all customers under shortest job first, made when asked for."""

    @cache
    def made() -> Ladder:
        atoms = all_atoms_of(law)
        top_s = float(law.ppf(_TOP)) if atoms is None else float(atoms[0][-1])
        return ladder_of(rate_rps, law, "sjf", top_s)

    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedWait:
    """Law of the wait over all customers, where one goes next by its size and is not interrupted.

    With ``own``, the transform of the service given the rung, it is that of the response. Tails to about
    1e-6, with atoms of the size to 1e-4 beside the kinks that they make.
    """

    sizes: Callable[[], Ladder]
    load: float
    is_atomic: bool
    mean_s: float
    variance_s2: float | None
    own: Callable[[Complexes], Complexes] | None = None
    service: Law | None = None
    _known: KnownPoints = field(default_factory=KnownPoints, init=False, repr=False, compare=False)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        if self.variance_s2 is None:
            raise ConfigError("variance: infinite, since the third moment of the service is")
        return self.variance_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        return np.array([self._tail(x) for x in times.ravel().tolist()]).reshape(times.shape)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        levels, at_once = np.asarray(q, dtype=float), 1 - self.load if self.service is None else 0.0
        found = [
            0.0
            if x <= at_once + _SLACK
            else self._known.quantile(self._tail, x, low=0.0, scale=self.mean_s / self.load, slack=_SLACK)
            for x in levels.ravel().tolist()
        ]
        return np.array(found).reshape(levels.shape)

    def _tail(self, t: float) -> float:
        if t <= 0:
            return 1.0 if t < 0 or self.service is not None else self.load
        ladder, idle = self.sizes(), 1 - self.load

        def late(s: Complexes) -> Complexes:
            flat = np.asarray(s, dtype=np.complex128).ravel()
            given = ladder.transforms(flat)[0]
            if self.own is None:
                return np.asarray(((1 - ladder.weight @ given) / flat).reshape(np.shape(s)))
            found = self.load - ladder.weight @ ((given - idle) * self.own(flat))
            return np.asarray((found / flat).reshape(np.shape(s)))

        rest = invert_laplace(late, t, tol=_SLACK, worst=1e-2 if self.is_atomic else 1e-3, max_terms=192)
        alone = 0.0 if self.service is None else idle * float(self.service.sf(t))
        return float(np.clip(float(rest) + alone, 0.0, 1.0))
