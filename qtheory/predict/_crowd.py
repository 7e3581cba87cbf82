"""The number of requests in system while the rate changes: a diffusion on a grid that follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ._astray import diffused
from ._rates import Rates

__all__ = ["Crowd", "CrowdLaw"]

Floats = NDArray[np.float64]

_CELLS, _STILL_CELLS = 400, 4000
_STEPS, _JUMPS = 2000, 1000  # of a whole time: steps at least, jumps of the rate that are kept sharp
_MOVE = 0.3  # standard deviations that the law moves in a step
_EDGE = 1e-7  # mass beyond which nothing is looked at
_TAIL = 20.0  # lengths of the tail that a steady law is followed for


@dataclass(frozen=True, kw_only=True, eq=False)
class CrowdLaw:
    """Probabilities (k,) of numbers from ``origin`` on, ``width`` apart."""

    origin: float
    width: float
    mass: Floats

    @property
    def numbers(self) -> Floats:
        """The numbers."""
        return np.asarray(self.origin + self.width * np.arange(len(self.mass)))

    def at_levels(self, levels: Floats) -> Floats:
        """Numbers not exceeded with these probabilities."""
        middle = np.cumsum(self.mass) - self.mass / 2
        return np.asarray(np.interp(levels, middle, self.numbers))

    def on(self, low: float, high: float) -> CrowdLaw:
        """The same on a grid between two numbers; masses keep their mean."""
        width = (high - low) / _CELLS
        place = np.clip((self.numbers - low) / width, 0.0, _CELLS - 1e-9)
        left = place.astype(np.intp)
        share = place - left
        mass = np.bincount(left, self.mass * (1 - share), _CELLS + 1)
        mass += np.bincount(left + 1, self.mass * share, _CELLS + 1)
        return CrowdLaw(origin=low, width=width, mass=mass / mass.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Crowd:
    r"""Requests in system :math:`N`: :math:`dN=(\lambda(t)-s(N))dt+\sqrt{\lambda c_a^2+s(N)c_s^2}\,dB` [1]_.

    Requests leave at the rate :math:`s(n)` at which, in steady states, n run in the mean; from
    :math:`n_c` on at that of the stability limit, and who is beyond waits. While the number grows fast, those
    who run are young, and fewer end: as on the path of means, which knows their ages.

    References
    ----------
    .. [1] Newell (1982), "Applications of queueing theory", 2nd edition, chapter 7.
    """

    running: Floats  # (k,) in the mean, increasing from 0 to the number at the limit
    ended_rps: Floats  # (k,) at which they end
    burstiness: float
    work_scv: float
    young: tuple[Floats, Floats] | None = None  # times, and shares of those who would end that do not yet

    @property
    def full(self) -> float:
        """Requests that run at the limit."""
        return float(self.running[-1])

    @property
    def limit_rps(self) -> float:
        """The stability limit."""
        return float(self.ended_rps[-1])

    def _speed(self, numbers: Floats) -> Floats:
        return np.asarray(np.interp(numbers, self.running, self.ended_rps))

    def _noise(self, rate_rps: float, speed: Floats) -> Floats:
        return np.asarray(rate_rps * self.burstiness + speed * self.work_scv)

    def steady(self, rate_rps: float) -> CrowdLaw:
        """The law to which the number settles at a rate below the limit."""
        tail = rate_rps * (self.burstiness + self.work_scv) / (2 * (self.limit_rps - rate_rps))
        numbers = np.linspace(0.0, self.full + _TAIL * tail, _STILL_CELLS + 1)
        speed = self._speed(numbers)
        noise = self._noise(rate_rps, speed)
        slope = 2 * (rate_rps - speed) / noise
        steps = (slope[1:] + slope[:-1]) / 2 * np.diff(numbers)
        height = np.concatenate([[0.0], np.cumsum(steps)]) - np.log(noise)
        mass = np.exp(height - height.max())
        return CrowdLaw(origin=0.0, width=float(numbers[1]), mass=mass / mass.sum())

    def empty(self) -> CrowdLaw:
        """Nobody there."""
        top = 4 * np.sqrt(self.full) + 20
        return CrowdLaw(origin=0.0, width=top / _CELLS, mass=np.eye(1, _CELLS + 1)[0])

    def paths(self, rates: Rates, times_s: Floats, start: CrowdLaw) -> list[CrowdLaw]:
        """The laws at increasing times, from a law at time 0 on."""
        law, now, found = start, 0.0, []
        longest = float(times_s[-1]) / _STEPS
        jumps = rates.edges_s(float(times_s[-1]))
        if len(jumps) > _JUMPS:  # a step or a few each: every step has the mean rate of its own time
            jumps = jumps[-1:]
        for stop in np.unique(np.concatenate([times_s, jumps])).tolist():
            while now < stop:
                step = min(longest, stop - now)
                come = rates.arrived(np.array([now, now + step]))
                law, took = self._moved(law, float(come[1] - come[0]) / step, step, now)
                now = stop if now + took >= stop - 1e-9 * longest else now + took
            if stop in times_s:
                found.append(law)
        return found

    def _moved(
        self, law: CrowdLaw, rate_rps: float, longest_s: float, now_s: float
    ) -> tuple[CrowdLaw, float]:
        """The law a step later, and the length of the step."""
        law = self._framed(law)
        fall = (self.limit_rps - rate_rps) * longest_s
        if law.origin >= self.full:
            if law.origin - fall >= self.full:  # all are beyond: the law moves as it is, and widens
                noise = self._noise(rate_rps, np.full(len(law.mass), self.limit_rps))
                mass = diffused(law.mass, np.zeros(len(law.mass)), noise, law.width, longest_s)
                return replace(law, origin=law.origin - fall, mass=mass), longest_s
            law = law.on(max(law.origin - 2 * fall - self.full, 0.0), float(law.numbers[-1]))
        numbers = law.numbers
        speed = self._speed(numbers)
        if self.young is not None:  # places all taken are so by people of all ages
            speed = np.where(numbers < self.full, float(np.interp(now_s, *self.young)), 1.0) * speed
        drift, noise = rate_rps - speed, self._noise(rate_rps, speed)
        mean = float(law.mass @ numbers)
        spread = max(float(law.mass @ (numbers - mean) ** 2) ** 0.5, 1 + 0.5 * self.full**0.5)
        fastest = abs(float(law.mass @ drift))
        step = longest_s if fastest * longest_s < _MOVE * spread else _MOVE * spread / fastest
        return replace(law, mass=diffused(law.mass, drift, noise, law.width, step)), step

    def _framed(self, law: CrowdLaw) -> CrowdLaw:
        """The law on a grid that holds it, and not much more.

        Between its edges a normal law has 10.4 standard deviations, so that the room on each side is that of
        five moves, of two moves of the least spread, and 2.4 requests more. A new grid has twice that; it
        comes when half of it is left, or when the law and its room fill less than two fifths of the old one.
        """
        numbers, below = law.numbers, np.cumsum(law.mass)
        low, high = numbers[np.minimum(np.searchsorted(below, [_EDGE, 1 - _EDGE]), _CELLS)].tolist()
        pad = 0.15 * (high - low) + 3 + 0.3 * self.full**0.5
        top = float(numbers[-1])
        fits = (law.origin == 0 or low > law.origin + pad / 2) and high < top - pad / 2
        is_tight = high - low + 2 * pad > 0.4 * (top - law.origin)
        is_apart = low - 2 * pad > self.full
        if fits and is_tight and (law.origin >= self.full or not is_apart):
            return law
        return law.on(max(low - 2 * pad, self.full if is_apart else 0.0), high + 2 * pad)
