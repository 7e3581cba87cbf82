"""The laws of wait and response of a batch server: in the time domain if possible, else by transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Gamma
from qtheory.numerics.taillaw import TailLaw
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import TimeLaw

from ._constant import ConstantBatchLaws
from ._constant_launch import ConstantLaunchLaws
from ._known import Known, known_responses, known_waits
from ._launch import Launch
from ._starts import ServiceStarts
from ._transform import TransformBatchLaws

__all__ = ["batch_laws"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Lst = Callable[[Complexes], Complexes]
Tail = Callable[[Floats], Floats]
Variance = Callable[[], float]

_POINTS = 12
_ON_CIRCLE = 32
_SMOOTH = (Exponential, Erlang, Gamma)  # kinks of other laws, and of timers, cost many terms
_MOST_ENTRIES = 1_500_000


def batch_laws(
    starts: ServiceStarts, launch: Launch, mean_wait_s: float, mean_response_s: float
) -> tuple[float, TimeLaw, TimeLaw | None]:
    """P(W > 0) and the laws of wait and response; that of the response not where it would take minutes."""
    prob_wait = 1.0 - float(starts.ended @ launch.at_once) / starts.mean_batch
    if all(isinstance(law, Constant) for law in starts.laws):
        tails, spread_s = _constant_tails(starts, launch, mean_wait_s, mean_response_s)
        (wait_tail, wait_var), (tail, var) = tails
        scale_s = mean_wait_s / max(prob_wait, 1e-300)
        wait = TailLaw(tail=wait_tail, mean_s=mean_wait_s, variance_s2=wait_var, scale_s=scale_s)
        response = TailLaw(
            tail=tail, mean_s=mean_response_s, variance_s2=var, scale_s=mean_response_s, spread_s=spread_s
        )
        return prob_wait, wait, response
    found = TransformBatchLaws(starts, launch)
    smooth = launch.is_at_once and all(isinstance(law, _SMOOTH) for law in starts.laws)
    is_finite, tol = math.isfinite(starts.square_left), 2e-11 if smooth else 1e-9
    waiting = _inverted(found.wait_lst, mean_wait_s, prob_wait, known_waits(starts, launch))
    radius = _radius(starts, launch, mean_wait_s)
    waiting = replace(waiting, radius=radius, is_finite=is_finite, tol=tol)
    if found.entries > _MOST_ENTRIES:
        return prob_wait, waiting, None
    late = _inverted(found.response_lst, mean_response_s, 1.0, known_responses(starts, launch))
    radius = _radius(starts, launch, mean_response_s)
    return prob_wait, waiting, replace(late, radius=radius, is_finite=is_finite, tol=tol)


def _constant_tails(
    starts: ServiceStarts, launch: Launch, mean_wait_s: float, mean_response_s: float
) -> tuple[tuple[tuple[Tail, Variance], tuple[Tail, Variance]], float | None]:
    """Tails and variances of wait and response for constant service times, without inversion.

    And a bound of the standard deviation of the response, if it costs nothing: late tails of a response are
    dear, so that its percentiles are looked for where they are likely to be.
    """
    if launch.least == 1:
        exact = ConstantBatchLaws(starts)
        tails = (
            (exact.wait_tail, lambda: exact.wait_var_s2),
            (
                exact.response_tail,
                lambda: exact.response_var_s2,
            ),
        )
        return tails, exact.spread_s
    held, found = ConstantLaunchLaws(starts, launch), TransformBatchLaws(starts, launch)
    radius = _radius(starts, launch, mean_wait_s), _radius(starts, launch, mean_response_s)
    return (
        (held.wait_tail, partial(_variance, found.wait_lst, mean_wait_s, radius[0])),
        (held.response_tail, partial(_variance, found.response_lst, mean_response_s, radius[1])),
    ), None


def _variance(lst: Lst, mean_s: float, radius: float) -> float:
    """Variance from the second derivative of E[exp(-sT)] at 0.

    By Cauchy's integral over a circle on which the transform exists; with none (``radius`` 0) from
    (E[exp(-sT)] - 1 + s E[T]) / s^2 at Chebyshev points of (0, h), extended to s = 0.
    """
    if radius > 0:
        turn = np.exp(2j * np.pi * np.arange(_ON_CIRCLE) / _ON_CIRCLE)
        return float(2.0 * np.mean((lst(radius * turn) / turn**2).real)) / radius**2 - mean_s**2
    angle = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    x = 0.5 * (1.0 - np.cos(angle))  # in units of h
    s = 0.5 / mean_s * x
    values = (lst(s.astype(np.complex128)).real - 1.0 + s * mean_s) / s**2
    weight = np.sin(angle) * (-1.0) ** np.arange(_POINTS) / x  # barycentric formula at 0
    return float(2.0 * (weight @ values) / weight.sum()) - mean_s**2


def _radius(starts: ServiceStarts, launch: Launch, mean_s: float) -> float:
    """A third of the distance from 0 to where a transform may end; 0 if that is not known."""
    rate = starts.rate_rps
    if starts.ratio <= 0:
        return 0.0
    nearest = min(rate * (1.0 / starts.ratio - 1.0), 1.0 / mean_s)
    if launch.least > 1 and math.isinf(launch.timeout_s):
        nearest = min(nearest, rate)
    for law in starts.laws:
        if isinstance(law, Gamma | Exponential | Erlang):
            nearest = min(nearest, 1.0 / (law.mean * law.scv))
        elif not isinstance(law, Constant):
            return 0.0
    return 0.3 * nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class _InvertedLaw(TransformLaw):
    """A law by inversion; the variance when asked for."""

    lst: Lst
    radius: float = 0.0
    is_finite: bool = True
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
        if not self.is_finite:
            raise ConfigError("variance: infinite, since the third moment of a service is infinite")
        return _variance(self.lst, self.mean_s, self.radius)


def _inverted(lst: Lst, mean_s: float, prob_positive: float, known: Known | None) -> _InvertedLaw:
    def tail_lst(s: Complexes) -> Complexes:
        rest = (1.0 - lst(s)) / s
        return np.asarray(rest - known.tail_lst(s) if known else rest, dtype=np.complex128)

    return _InvertedLaw(
        tail_lst=tail_lst,
        mean_s=mean_s,
        prob_positive=prob_positive,
        known_tail=known.tail if known else None,
        worst=1e-5,
        lst=lst,
        jump_s=known.jump_s if known else None,
        jump=known.jump if known else 0.0,
    )
