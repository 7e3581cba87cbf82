"""Laws of the response under rules that look at sizes, by inversion of the transforms given the size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw, TransformLaw
from qtheory.numerics.window import Window, window_around, window_of_few
from qtheory.queues.single._common import all_atoms_of

from ._ladders import Ladder, Rule, dense_ladder, ladder_of
from ._search import KnownPoints, Near

__all__ = ["RankedTime", "RankedWait", "Rule", "all_sizes", "law_given_size"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_TOL, _SLACK = 3e-6, 1e-7
_PART, _NEAR_ENOUGH = 3e-3, 3e-4  # of the tail asked for: what an error may be, and where it is found
_WAITS = 1e-2  # of a mean service, a first guess of a wait for one
_MANY_LARGER = 2e-3
_SPAN_AMONG, _SPAN_BEYOND = (0.95, 1.05), (0.998, 1.002)  # ratios to a time where its inversion serves
_SHORTEST = 1e-290  # of a mean service, that has a transform in numbers
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
    _known: dict[float, KnownPoints] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        if self.variance_s2 is None:
            raise ConfigError("variance: infinite, since a moment of the service is")
        return self.variance_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        found = [float(self._near(x).tail(np.array(x))) for x in times.ravel().tolist()]
        return np.array(found).reshape(times.shape)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        levels, low = np.asarray(q, dtype=float), max(self.law.support[0], 0.0)
        idle = 1 - self.rate_rps * self.law.mean
        is_atomic = all_atoms_of(self.law) is not None

        def found(x: float) -> float:
            tol = min(_TOL, max(_PART * (1 - x), 0.0))
            return self._known.setdefault(tol, KnownPoints()).quantile(
                partial(self._near, tol=tol),
                x,
                low=low,
                scale=self._first_guess(x, idle),
                slack=min(_SLACK, max(_NEAR_ENOUGH * (1 - x), 0.0)),
                rough=None if is_atomic else partial(self._near, tol=tol, is_rough=True),
            )

        return np.array([found(x) for x in levels.ravel().tolist()]).reshape(levels.shape)

    def _first_guess(self, q: float, idle: float) -> float:
        """The percentile of the size, stretched; who cannot but wait for a service waits longer than that."""
        size = float(self.law.ppf(q)) / idle
        return max(size, _WAITS * self.law.mean) if self.rule == "sjf" and q >= idle else size

    def _near(self, t: float, *, tol: float = _TOL, is_rough: bool = False) -> Near:
        """The tail at t, and around it if no atom makes it turn."""
        if t <= 0 or t < self.law.support[0] or float(self.law.cdf(t)) <= 0:
            return Near(t=t, tail=np.ones_like)
        if t < _SHORTEST * self.law.mean:
            raise ConvergenceError(f"t={t:g}: too short a time for the transform of the response")
        is_atomic = all_atoms_of(self.law) is not None
        if not is_atomic and float(self.law.sf(t)) > _MANY_LARGER:
            return self._among_sizes(t)
        return self._beyond_sizes(t, tol, is_atomic=is_atomic, is_rough=is_rough)

    def _among_sizes(self, t: float) -> Near:
        """Where many are larger than t: the mixture is smooth, its transform is resolved in the size."""
        ladder = dense_ladder(self.rate_rps, self.law, self.rule, t)
        sizes, weight = ladder.sizes[:, None], ladder.weight

        def late(s: Complexes) -> Complexes:
            given = ladder.transforms(s)[0] * np.exp(-s * sizes)
            return np.asarray((1 - (weight[:, None] * given).sum(axis=0)) / s)

        window = window_of_few(late, t)

        def tail(at: Floats) -> Floats:
            return np.clip(window.at(at), 0.0, 1.0)

        return Near(t=t, tail=tail, window=window, span=_SPAN_AMONG, tol=_TOL)

    def _beyond_sizes(self, t: float, tol: float = _TOL, *, is_atomic: bool, is_rough: bool = False) -> Near:
        """Larger sizes are late for sure; the smaller ones are inverted one by one, without their jumps."""
        ladder = ladder_of(self.rate_rps, self.law, self.rule, t)
        sizes, weight = ladder.sizes[:, None], ladder.weight
        larger, alone = float(self.law.sf(t)), np.zeros(0)

        def late(s: Complexes) -> Complexes:
            nonlocal alone
            given, alone = ladder.transforms(s)
            start = np.exp(-s * sizes)
            value = (1 - given * start) - alone[:, None] * (1 - start)
            return np.asarray((weight[:, None] * value).sum(axis=0) / s)

        def tail(at: Floats) -> Floats:
            between = 0.0 if is_atomic else self.law.sf(at) - larger  # with no delay, late if larger
            return np.asarray(np.clip(larger + alone[-1] * between + window.at(at), 0.0, 1.0))

        if is_rough:
            window = window_of_few(late, t, is_rough=True)
            return Near(t=t, tail=tail, window=window)
        worst = 1e-2 if is_atomic else 1e-3
        window = window_around(late, t, tol=tol, worst=worst, max_terms=192)
        if is_atomic:
            return Near(t=t, tail=tail)
        return Near(t=t, tail=tail, window=window, span=_SPAN_BEYOND, tol=tol)


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
    _known: dict[float, KnownPoints] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        if self.variance_s2 is None:
            raise ConfigError("variance: infinite, since the third moment of the service is")
        return self.variance_s2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        found = [float(self._near(x).tail(np.array(x))) for x in times.ravel().tolist()]
        return np.array(found).reshape(times.shape)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        levels, at_once = np.asarray(q, dtype=float), 1 - self.load if self.service is None else 0.0

        def found(x: float) -> float:
            if x <= at_once + _SLACK:
                return 0.0
            tol = min(_SLACK, max(_PART * (1 - x), 0.0))
            scale = self.mean_s / self.load * max(math.log(self.load / (1 - x)), 0.1) if x < 1 else 1.0
            known = self._known.setdefault(tol, KnownPoints())
            slack = min(_SLACK, max(_NEAR_ENOUGH * (1 - x), 0.0))
            return known.quantile(partial(self._near, tol=tol), x, low=0.0, scale=scale, slack=slack)

        return np.array([found(x) for x in levels.ravel().tolist()]).reshape(levels.shape)

    def _near(self, t: float, *, tol: float = _SLACK) -> Near:
        """The tail at t, and around it if no atom makes it turn."""
        if t <= 0:
            at_once = self.load if self.service is None else 1.0
            return Near(t=t, tail=lambda at: np.where(at < 0, 1.0, at_once))
        ladder, idle, service = self.sizes(), 1 - self.load, self.service

        def late(s: Complexes) -> Complexes:
            given = ladder.transforms(s)[0]
            if self.own is None:
                return np.asarray((1 - ladder.weight @ given) / s)
            return np.asarray((self.load - ladder.weight @ ((given - idle) * self.own(s))) / s)

        def tail(at: Floats) -> Floats:
            alone = 0.0 if service is None else idle * service.sf(at)
            return np.clip(window.at(at) + alone, 0.0, 1.0)

        worst = 1e-2 if self.is_atomic else 1e-3
        window = window_around(late, t, tol=tol, worst=worst, max_terms=192)
        if self.is_atomic:
            return Near(t=t, tail=tail)
        return Near(t=t, tail=tail, window=window, span=(Window.LOW, Window.HIGH), tol=10 * tol)
