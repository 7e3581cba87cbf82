"""The wait at one server, solved: renewal arrivals with gamma gaps, and works that were drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import UnstableError
from qtheory.numerics.roots import bracketed_root

__all__ = ["WaitLaw", "wait_law"]

Floats = NDArray[np.float64]
_POINTS = 1 << 18
_DIGITS = 25.0  # -ln of what is left out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitLaw:
    """A law on a grid: ``pmf[k]`` is the probability of ``k * step_s``.

    Parameters
    ----------
    step_s : float
        Seconds, > 0.
    pmf : array of float, shape (n,)
    """

    step_s: float
    pmf: Floats

    @property
    def mean_s(self) -> float:
        """Of the wait."""
        return self.excess_s(0.0)

    def quantile_s(self, share: float) -> float:
        """Wait that a ``share`` of the requests does not exceed, in (0, 1)."""
        return self.step_s * int(np.searchsorted(np.cumsum(self.pmf), share))

    def above(self, wait_s: float) -> float:
        """Share that waits longer."""
        return float(self.pmf[math.floor(wait_s / self.step_s) + 1 :].sum())

    def excess_s(self, wait_s: float) -> float:
        """Mean of what a wait is longer than this, 0 where it is shorter."""
        first = math.floor(wait_s / self.step_s) + 1
        waits_s = self.step_s * np.arange(first, len(self.pmf))
        return float((waits_s - wait_s) @ self.pmf[first:])


def wait_law(*, gap_s: float, gap_scv: float, works_s: Floats) -> WaitLaw:
    r"""Exact law of the wait in GI/G/1 but for its grid: first come, first served.

    With steps :math:`X` of a work less a gap, Spitzer's identity [1]_ is
    :math:`E[e^{sW}] = \exp \sum_n \frac1n E[e^{s S_n^+} - 1]`. The sum over :math:`n` is
    :math:`-\log(1 - E[e^{sX}])`, of which the part at positive waits is kept by Fourier transforms. They are
    taken at the real part :math:`\eta / 2`, where :math:`E[e^{\eta X}] = 1`: there the logarithm has no zero
    near, and what the finite grid wraps around is below :math:`e^{-25}` [2]_. Works and gaps are put on the
    grid with their means.

    Parameters
    ----------
    gap_s : float
        Mean between arrivals, seconds, > 0.
    gap_scv : float
        Squared coefficient of variation of gaps, > 0; 1: Poisson.
    works_s : array of float, shape (n,)
        Each as likely as any other, >= 0.

    Raises
    ------
    UnstableError
        If the load is 1 or more.

    References
    ----------
    .. [1] Spitzer (1956), "A combinatorial lemma and its application to probability theory", Trans. AMS 82,
       323-339.
    .. [2] Abate and Whitt (1992), "The Fourier-series method for inverting transforms of probability
       distributions", Queueing Systems 10, 5-88 (damping).

    Examples
    --------
    >>> law = wait_law(gap_s=1.0, gap_scv=1.0, works_s=np.array([0.5, 0.7]))  # 0.37 / (2 * 0.4) by M/G/1
    >>> print(f"{law.mean_s:.4f}, {law.above(0.0):.3f}")
    0.4625, 0.600
    """
    if works_s.mean() >= gap_s:
        raise UnstableError(f"a load of {works_s.mean() / gap_s:g} at one server has no steady state")
    fall = _fall(gap_s, gap_scv, works_s)
    step_s = (4 * _DIGITS / fall + 8 * float(works_s.max())) / _POINTS
    places = np.arange(_POINTS)
    damped = np.exp(-fall / 2 * step_s * places)
    gaps = np.zeros(_POINTS)
    half = _POINTS // 2
    gaps[-places[:half]] = _gaps_on(step_s, gap_s, gap_scv, half) * damped[:half]
    works = _works_on(step_s, works_s) / damped
    series = np.fft.irfft(-np.log(1 - np.fft.rfft(works) * np.fft.rfft(gaps)), _POINTS)
    series[0] = 0.0
    series[half:] = 0.0
    pmf = np.fft.irfft(np.exp(np.fft.rfft(series)), _POINTS)[:half] * damped[:half]
    return WaitLaw(step_s=step_s, pmf=pmf * math.exp(-float(series @ damped)))


def _fall(gap_s: float, gap_scv: float, works_s: Floats) -> float:
    """Rate at which the far tail of the wait falls: the root of E[exp(eta X)] = 1."""
    mean_s, top_s = float(works_s.mean()), float(works_s.max())

    def log_moment(rate: float) -> float:
        works = rate * top_s + math.log(float(np.exp(rate * (works_s - top_s)).mean()))
        return works - math.log1p(rate * gap_scv * gap_s) / gap_scv

    high = 2 * (gap_s - mean_s) / (float(works_s.var()) + gap_scv * gap_s**2)
    while log_moment(high) <= 0:
        high *= 2
    low = high / 2
    while log_moment(low) >= 0:
        low /= 2
    return float(bracketed_root(lambda rate, _: np.array([log_moment(float(rate[0]))]), low, high, rtol=1e-9))


def _works_on(step_s: float, works_s: Floats) -> Floats:
    """Each work shared by its two neighbours on the grid, with its mean."""
    below = np.floor(works_s / step_s).astype(np.intp)
    rest = works_s / step_s - below
    found = np.bincount(below, 1 - rest, _POINTS) + np.bincount(below + 1, rest, _POINTS)
    return np.asarray(found / len(works_s))


def _gaps_on(step_s: float, gap_s: float, gap_scv: float, n: int) -> Floats:
    """The same of a gamma law: second differences of the integral of its distribution function."""
    from scipy.special import gammainc  # slow to import, so only here

    shape, scale_s = 1 / gap_scv, gap_scv * gap_s
    at_s = step_s * np.arange(n + 1)
    area_s = at_s * gammainc(shape, at_s / scale_s) - gap_s * gammainc(shape + 1, at_s / scale_s)
    slope = np.diff(area_s) / step_s
    return np.asarray(np.diff(slope, prepend=0.0))
