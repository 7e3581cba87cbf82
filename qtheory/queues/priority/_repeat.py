r"""Transforms of the times of a class whose interrupted service starts again from nothing.

The more urgent classes interrupt at rate :math:`\Lambda` for a busy period of transform :math:`\Gamma`. With
the time C from first start to end, an arrival finds the work of its class as in M/G/1 with services C, and
perhaps the rest of an interruption.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qtheory.laws.law import Law
from qtheory.numerics.fixed_point import fixed_point
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.single._common import all_atoms_of
from qtheory.queues.single.excess import Excess

__all__ = ["RepeatedClass"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_CAUSE = "the third moment of repeated work is infinite"
_LEVELS, _STEP = 5, 0.06
_SCORE, _EDGE = 0.08, 8.2


@dataclass(frozen=True, kw_only=True, eq=False)
class RepeatedClass:
    """A class, two moments of its completion time, and the class above it (None for the most urgent)."""

    rate_rps: float
    law: Law
    mean_completion_s: float
    completion_second_s2: float
    identical: bool
    above: RepeatedClass | None
    urgent_rps: float  # rate of all classes above
    mean_away_s: float  # mean of their busy period
    away_second_s2: float

    def completion(self, s: Complexes) -> Complexes:
        """E[exp(-s C)]."""
        return np.asarray(1.0 - self.short(s))

    def short(self, s: Complexes) -> Complexes:
        """1 - E[exp(-s C)], with its digits at small s."""
        if self.above is None:
            return np.asarray(s * self.law.mean * Excess(law=self.law).lst(s))
        lam = self.urgent_rps
        again = s + lam * self.above.busy_short(s)  # (s + lam) (1 - share of the attempts that go on)
        if not self.identical:
            stopped = 1.0 - self.law.lst(s + lam)
            return np.asarray(stopped * again / (s + lam - stopped * (s + lam - again)))
        x, mass = self._sizes()
        stopped = -np.expm1(-(s[..., None] + lam) * x)
        left = (s + lam)[..., None] - stopped * (s + lam - again)[..., None]
        return np.asarray((stopped * again[..., None] / left) @ mass)

    def _sizes(self) -> tuple[Floats, Floats]:
        atoms = all_atoms_of(self.law)
        if atoms is not None:
            return atoms
        y = np.arange(-_EDGE, _EDGE, _SCORE)
        weight = np.exp(-0.5 * y * y)
        return np.asarray(self.law.ppf(ndtr(y)), dtype=float), weight / weight.sum()

    def busy_short(self, s: Complexes) -> Complexes:
        """1 - E[exp(-s B)], B a busy period of this class and all above, whoever starts it."""
        flat, rate = np.asarray(s, dtype=np.complex128).ravel(), self.rate_rps
        unit = flat * self.mean_completion_s / (1.0 - rate * self.mean_completion_s)  # of order 1 - E[...]

        def mapping(x: Complexes, which: NDArray[np.intp]) -> Complexes:
            return np.asarray(self.short(flat[which] + rate * unit[which] * x) / unit[which])

        own = unit * fixed_point(mapping, np.zeros(flat.size, dtype=np.complex128))
        if self.above is not None:
            started = self.above.busy_short(flat + rate * own)
            own = (self.urgent_rps * started + rate * own) / (self.urgent_rps + rate)
        return np.asarray(own.reshape(np.shape(s)))

    def wait(self, s: Complexes) -> Complexes:
        """E[exp(-s W)] of the time until service first starts."""
        load = self.rate_rps * self.mean_completion_s
        found = (1.0 - load) / (1.0 - self.rate_rps * self.short(s) / s)
        if self.above is None:
            return np.asarray(found)
        away = 1.0 + self.urgent_rps * self.above.busy_short(s) / s
        return np.asarray(found * away / (1.0 + self.urgent_rps * self.mean_away_s))

    def response(self, s: Complexes) -> Complexes:
        """E[exp(-s T)]: wait and completion are independent."""
        return np.asarray(self.wait(s) * self.completion(s))

    def _variances(self) -> tuple[float, float]:
        """Of the wait, as in M/G/1 and with perhaps the rest of an interruption, and of the completion."""
        mean, rate = self.mean_completion_s, self.rate_rps
        left = 1.0 - rate * mean
        second, third = self.completion_second_s2, _third(self.short, mean)
        own = rate * second / (2.0 * left)
        wait = own**2 + rate * third / (3.0 * left)
        if self.above is not None:
            away = self.urgent_rps * self.mean_away_s / (1.0 + self.urgent_rps * self.mean_away_s)
            rest = away * self.away_second_s2 / (2.0 * self.mean_away_s)
            square = away * _third(self.above.busy_short, self.mean_away_s) / (3.0 * self.mean_away_s)
            wait += square - rest**2
        return wait, second - mean**2

    @property
    def idle(self) -> float:
        """P(service starts at once)."""
        return (1.0 - self.rate_rps * self.mean_completion_s) / (1.0 + self.urgent_rps * self.mean_away_s)

    def laws(self, means: tuple[float, float], *, has_variance: bool) -> tuple[TransformLaw, TransformLaw]:
        """Laws of wait and response, given their means."""
        atoms = all_atoms_of(self.law)
        kinked = any(all_atoms_of(one.law) is not None for one in self._chain())
        size = np.zeros(0) if atoms is None else atoms[0]
        alone = self.idle * np.exp(-self.urgent_rps * size) * (atoms[1] if atoms is not None else 1.0)

        def response_tail(s: Complexes) -> Complexes:
            known = ((1.0 - np.exp(-s[..., None] * size)) @ alone) if size.size else 0.0
            return np.asarray((1.0 - self.response(s) - known) / s)

        def wait_tail(s: Complexes) -> Complexes:
            return np.asarray((1.0 - self.wait(s)) / s)

        wait_var, own_var = self._variances() if has_variance else (None, None)
        tol, worst = (1e-7, 1e-2) if kinked else (2e-10, 2e-4)
        wait = TransformLaw(
            tail_lst=wait_tail,
            mean_s=means[0],
            variance_s2=wait_var,
            prob_positive=1.0 - self.idle,
            tol=tol,
            worst=worst,
            cause=_CAUSE,
        )
        response = TransformLaw(
            tail_lst=response_tail,
            mean_s=means[1],
            variance_s2=None if wait_var is None or own_var is None else wait_var + own_var,
            known_tail=(lambda t: (t[..., None] < size) @ alone) if size.size else None,
            tol=tol,
            worst=worst,
            cause=_CAUSE,
        )
        return wait, response

    def _chain(self) -> list[RepeatedClass]:
        return [self, *(self.above._chain() if self.above is not None else [])]


def _third(short: Callable[[Complexes], Complexes], mean_s: float) -> float:
    """E[T^3] from the imaginary part of 1 - E[exp(-s T)] beside 0, by differences that Richardson's rule
    extends to 0."""
    h = _STEP / mean_s * 0.5 ** np.arange(_LEVELS)
    bend = 6.0 * (mean_s - short(np.asarray(1j * h, dtype=np.complex128)).imag / h) / h**2
    for level in range(1, _LEVELS):
        bend = (4.0**level * bend[1:] - bend[:-1]) / (4.0**level - 1.0)
    return float(bend[0])
