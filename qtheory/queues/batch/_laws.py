"""The laws of wait and response of a batch server: in the time domain if possible, else by transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.laws import Constant
from qtheory.numerics.markov import poisson_pmf
from qtheory.numerics.taillaw import TailLaw
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import TimeLaw

from ._constant import ConstantBatchLaws
from ._constant_launch import ConstantLaunchLaws
from ._launch import Launch
from ._starts import ServiceStarts
from ._transform import TransformBatchLaws

__all__ = ["batch_laws"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Lst = Callable[[Complexes], Complexes]

_POINTS = 12


def batch_laws(
    starts: ServiceStarts, launch: Launch, mean_wait_s: float, mean_response_s: float
) -> tuple[float, TimeLaw, TimeLaw]:
    """P(W > 0) and the laws of wait and response."""
    prob_wait = 1.0 - float(starts.ended @ launch.at_once) / starts.mean_batch
    scale_s = mean_wait_s / max(prob_wait, 1e-300)
    found = TransformBatchLaws(starts, launch)
    if not all(isinstance(law, Constant) for law in starts.laws):
        wait = _inverted(found.wait_lst, mean_wait_s, prob_wait, _known_waits(starts, launch))
        return prob_wait, wait, _inverted(found.response_lst, mean_response_s, 1.0, None)
    if launch.least == 1:
        exact = ConstantBatchLaws(starts)
        return (
            prob_wait,
            _by_tail(exact.wait_tail, mean_wait_s, lambda: exact.wait_var_s2, scale_s),
            _by_tail(exact.response_tail, mean_response_s, lambda: exact.response_var_s2, mean_response_s),
        )
    held = ConstantLaunchLaws(starts, launch)
    return (
        prob_wait,
        _by_tail(held.wait_tail, mean_wait_s, lambda: _variance(found.wait_lst, mean_wait_s), scale_s),
        _by_tail(
            held.response_tail,
            mean_response_s,
            lambda: _variance(found.response_lst, mean_response_s),
            mean_response_s,
        ),
    )


def _by_tail(
    tail: Callable[[Floats], Floats], mean_s: float, variance_s2: Callable[[], float], scale_s: float
) -> TimeLaw:
    return TailLaw(tail=tail, mean_s=mean_s, variance_s2=variance_s2, scale_s=scale_s)


def _variance(lst: Lst, mean_s: float) -> float:
    """Variance from (E[exp(-sT)] - 1 + s E[T]) / s^2 at Chebyshev points of (0, h), extended to s = 0."""
    angle = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    x = 0.5 * (1.0 - np.cos(angle))  # in units of h
    s = 0.5 / mean_s * x
    values = (lst(s.astype(np.complex128)).real - 1.0 + s * mean_s) / s**2
    weight = np.sin(angle) * (-1.0) ** np.arange(_POINTS) / x  # barycentric formula at 0
    return float(2.0 * (weight @ values) / weight.sum()) - mean_s**2


@dataclass(frozen=True, slots=True, kw_only=True)
class _InvertedLaw(TransformLaw):
    """A law by inversion; the variance when asked for."""

    lst: Lst
    jump_s: float | None = None
    jump: float = 0.0

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q; levels inside the jump of the tail need no search."""
        if self.jump_s is None or self.jump <= 0:
            return TransformLaw.ppf(self, q)
        levels = np.asarray(q, dtype=float)
        after = float(self.sf(self.jump_s))
        inside = (1.0 - levels >= after) & (1.0 - levels < after + self.jump)
        found = np.full(levels.shape, self.jump_s)
        if not inside.all():
            found[~inside] = TransformLaw.ppf(self, levels[~inside])
        return found

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return _variance(self.lst, self.mean_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownWaits:
    """Waits that are the whole timer (a jump of the tail) or a uniform share of it (a kink)."""

    timer_s: float
    whole: float
    uniform: float

    def tail(self, t: Floats) -> Floats:
        """Their part of P(W > t)."""
        left = np.maximum(1.0 - t / self.timer_s, 0.0)
        return np.asarray(self.whole * (t < self.timer_s) + self.uniform * left, dtype=float)

    def tail_lst(self, s: Complexes) -> Complexes:
        """Its Laplace transform."""
        x = s * self.timer_s
        flat = -np.expm1(-x) / x
        both = self.whole * flat + self.uniform * (1.0 - flat) / x
        return np.asarray(self.timer_s * both, dtype=np.complex128)


def _known_waits(starts: ServiceStarts, launch: Launch) -> _KnownWaits | None:
    """From the first to come to an empty server, and from those who come after it.

    The uniform part also takes the other change of slope at the timer: those present when the server gets
    free wait for the timer on top (density at zero: an arrival in the last moment of a service), and the
    first to come stops waiting for a full batch.
    """
    a = launch.least
    if a == 1 or math.isinf(launch.timeout_s):
        return None
    started = starts.ended.copy()
    started[1] += started[0]  # with nobody there, the timer starts at the first arrival
    number = np.arange(1, a + 1)
    rate, timer_s = starts.rate_rps, launch.timeout_s
    ends = launch.law[:, : a - 1].sum(axis=1)  # P(the timer ends the idle time | y)
    slope = rate * float(poisson_pmf(a - 2, rate * timer_s)) * float(starts.ended[0])
    slope -= rate * float(starts.ended[: a - 1] @ ends[1:])
    late = [float(launch.law[y, y - 1 : a - 1] @ (number[y - 1 : a - 1] - y)) for y in range(1, a)]
    return _KnownWaits(
        timer_s=timer_s,
        whole=float(starts.ended[0] * ends[1]) / starts.mean_batch,
        uniform=(float(started[1:] @ np.array(late)) + slope * timer_s) / starts.mean_batch,
    )


def _inverted(lst: Lst, mean_s: float, prob_positive: float, known: _KnownWaits | None) -> TimeLaw:
    def tail_lst(s: Complexes) -> Complexes:
        rest = (1.0 - lst(s)) / s
        return np.asarray(rest - known.tail_lst(s) if known else rest, dtype=np.complex128)

    return _InvertedLaw(
        tail_lst=tail_lst,
        mean_s=mean_s,
        prob_positive=prob_positive,
        known_tail=known.tail if known else None,
        lst=lst,
        jump_s=known.timer_s if known else None,
        jump=known.whole if known else 0.0,
    )
