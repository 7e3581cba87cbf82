"""Arrivals in clumps, for formulas over many rates at once: who comes with a request, and who behind it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc

from qtheory.system.workload import GammaArrivals, MmppArrivals, OpenArrivals

from ._bursts import Following, batches_like, within_queue

__all__ = ["GAUSS", "GAUSS_WEIGHTS", "Clumps", "clump_seconds"]

Floats = NDArray[np.float64]

_MOST_BUSY = 0.98
_BUSY = np.concatenate([np.geomspace(1e-3, 0.1, 8), np.linspace(0.15, _MOST_BUSY, 16)])
_WINDOWS = np.geomspace(1e-3, 100.0, 14)  # mean gaps
GAUSS, GAUSS_WEIGHTS = 0.5 + np.sqrt(0.15) * np.array([-1.0, 0.0, 1.0]), np.array([5, 8, 5]) / 18


@dataclass(frozen=True, kw_only=True)
class Clumps:
    """Bursts as geometric batches whose size grows with the time in which they are counted.

    ``kept_frac`` of the requests come here at the rates that are asked about; the others go elsewhere.
    """

    arrivals: OpenArrivals | None
    dispersion: float  # in a long time
    kept_frac: float = 1.0

    @property
    def is_bursty(self) -> bool:
        """Whether requests come closer together than at random."""
        return self.arrivals is not None and self.dispersion > 1

    def queueing(self, rates_rps: Floats, each_s: Floats, varies: float) -> Floats:
        """Index of dispersion (r,) of batches that queue as long before services of ``each_s`` (r,)."""
        arrivals, whole = self.arrivals, np.full_like(rates_rps, self.dispersion)
        if arrivals is None or not self.is_bursty:
            return whole
        busy = np.minimum(rates_rps * each_s, _MOST_BUSY)
        if isinstance(arrivals, GammaArrivals):
            found = np.interp(busy, _BUSY, _batches_at(arrivals.scv))
            return np.asarray(1 + self.kept_frac * (found - 1))
        if isinstance(arrivals, MmppArrivals):
            each = zip(rates_rps.tolist(), each_s.tolist(), busy.tolist(), strict=True)
            found = np.array([within_queue(arrivals, r / self.kept_frac, s, varies, b) for r, s, b in each])
            return np.asarray(1 + self.kept_frac * (found - 1))
        return whole

    def following(self, times_s: Floats, rates_rps: Floats) -> Floats:
        """Mean number (..., r) of requests, beyond those of the mean rate, behind one within ``times_s``."""
        if self.arrivals is None or not self.is_bursty:
            return np.zeros(np.broadcast_shapes(times_s.shape, rates_rps.shape))
        if isinstance(self.arrivals, MmppArrivals):
            found = _in_phases(self.arrivals, times_s, rates_rps / self.kept_frac)
            return self.kept_frac * np.where(times_s > 0, found, 0.0)
        gaps = np.log(np.maximum(times_s * rates_rps / self.kept_frac, 1e-300))
        places, known = _following_at(self.arrivals)
        return np.asarray(self.kept_frac * np.where(times_s > 0, np.interp(gaps, places, known), 0.0))

    def within(self, times_s: Floats, rates_rps: Floats) -> Floats:
        """The same (..., r) behind each of those who come within ``times_s``, up to its end."""
        if self.arrivals is None or not self.is_bursty:
            return np.zeros(np.broadcast_shapes(times_s.shape, rates_rps.shape))
        found = [
            w * self.following(share * times_s, rates_rps)
            for share, w in zip(GAUSS, GAUSS_WEIGHTS, strict=True)
        ]
        return np.asarray(sum(found))

    def none(self, times_s: Floats, rates_rps: Floats) -> Floats:
        """P(no request comes within a time) (..., r); but of gamma gaps as of a negative binomial number."""
        arrivals, number = self.arrivals, rates_rps * times_s
        if isinstance(arrivals, GammaArrivals) and self.kept_frac == 1 and self.is_bursty:
            places, known = _none_at(arrivals.scv)
            gaps = np.log(np.maximum(number, 1e-300))
            return np.asarray(np.exp(-number * np.interp(gaps, places, known)))
        more = 2 * self.within(times_s, rates_rps)
        grown = np.where(more > 1e-6, np.log1p(more) / np.maximum(more, 1e-6), 1.0)
        return np.asarray(np.exp(-number * grown))


def _in_phases(arrivals: MmppArrivals, times_s: Floats, rates_rps: Floats) -> Floats:
    """Who follows within times (..., r), between some windows of each rate."""
    found = np.empty(np.broadcast_shapes(times_s.shape, rates_rps.shape))
    gaps = np.log(np.maximum(times_s * rates_rps, 1e-300))
    for k, rate in enumerate(rates_rps.tolist()):
        known = [(arrivals.dispersion(rate, gap / rate) - 1) / 2 for gap in _WINDOWS]
        found[..., k] = np.interp(gaps[..., k], np.log(_WINDOWS), known)
    return found


def clump_seconds(
    mates: tuple[Floats, Floats, Floats], one_s: Floats, step_s: Floats, varies: float
) -> tuple[Floats, Floats]:
    """Two moments of the seconds of the prompts of the own clump.

    ``mates``: means of the geometric numbers ahead and in the same step, and the probability that one does
    not start alone; without that nobody is in its step. ``step_s`` is what the step takes that the others
    wait for, ``varies`` the mean square of a prompt over the square of its mean.
    """
    ahead, beside, busy = mates
    number = ahead + busy * beside
    number2 = ahead * (1 + 2 * ahead) + busy * beside * (1 + 2 * beside) + 2 * ahead * beside
    some = ahead / (1 + ahead)
    mean = one_s * number + some * step_s
    square = one_s**2 * (number2 + number * (varies - 1)) + some * step_s**2
    return mean, square + 2 * one_s * (number + some) * step_s


@lru_cache(maxsize=8)
def _batches_at(scv: float) -> Floats:
    """Of gamma gaps, at each of the loads."""
    return np.array([batches_like(scv, float(busy)) for busy in _BUSY])


@lru_cache(maxsize=8)
def _following_at(arrivals: OpenArrivals) -> tuple[Floats, Floats]:
    """Logarithms of times in mean gaps, and who follows; the same at any rate."""
    return Following(arrivals=arrivals, rate_rps=1.0).table


@lru_cache(maxsize=8)
def _none_at(scv: float) -> tuple[Floats, Floats]:
    """Logarithms of times in mean gaps, and those of P(no request in the time) over minus the time: the first
    one of gamma gaps comes at the rate P(gap > t)."""
    times, shape = np.geomspace(1e-6, 50.0, 1200), 1 / scv
    first = times * gammaincc(shape, shape * times) + gammainc(shape + 1, shape * times)
    return np.log(times), -np.log1p(-np.minimum(first, 1 - 1e-12)) / times
