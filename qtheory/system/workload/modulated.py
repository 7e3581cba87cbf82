"""Open arrivals whose rate changes with time: a clock of rate 1 that runs faster and slower."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Law

from .arrivals import GammaArrivals, OpenArrivals

__all__ = ["ModulatedArrivals"]

Floats = NDArray[np.float64]


class ModulatedArrivals(OpenArrivals):
    r"""Arrivals at :math:`\Lambda^{-1}(T_1), \Lambda^{-1}(T_2), \dots`, exact by change of time [1]_.

    :math:`T_k` is the k-th arrival at rate 1 and :math:`\Lambda(t)=\lambda\int_0^t r(u)\,du`, with the
    relative rate r of mean 1. Equal generators give equal :math:`T_k` and r at every :math:`\lambda`: another
    rate moves the arrivals and leaves the busy times where they are.

    A new kind defines ``_inverse``.

    References
    ----------
    .. [1] Cinlar (1975), "Introduction to stochastic processes", Prentice-Hall, chapter 4.7.

    Examples
    --------
    >>> from qtheory.system.workload import parse_arrivals
    >>> arrivals = parse_arrivals("profile(rates=[0, 1], lengths_s=[10, 10])")
    >>> slow, fast = (arrivals.arrival_times(np.random.default_rng(1), rate, n=3) for rate in (0.5, 5.0))
    >>> slow.round(2).tolist(), fast.round(2).tolist()
    ([11.07, 11.38, 16.76], [10.11, 10.14, 10.68])
    """

    __slots__ = ()

    @abstractmethod
    def _inverse(self, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        """Inverse of the integral of r; draws no more from ``rng`` after it has returned."""

    @property
    def _clock_cv(self) -> float:
        """Coefficient of variation of the gaps of the clock."""
        return 1.0

    @property
    def scv(self) -> float:
        """Refused, since it changes with time."""
        raise ConfigError(
            f"arrivals: {self} have no one law of the times between them; only the simulator takes them as "
            "they are (poisson and gamma have one)"
        )

    def gap_law(self, rate_rps: float) -> Law:
        """Refused, since it changes with time."""
        raise ConfigError(
            f"arrivals: {self} come at a rate that changes with time, so the times between them have no one "
            f"law at {rate_rps:g} requests per second; only the simulator takes them as they are"
        )

    def dispersion(self, rate_rps: float) -> float:
        """Index of dispersion of the number of arrivals in a long time, the rates being given."""
        checks.positive(rate_rps=rate_rps)
        return self._clock_cv**2  # r is given and repeats itself: no chance in it

    def _unit_times(self, rng: np.random.Generator, n: int) -> Floats:
        return GammaArrivals(cv=self._clock_cv)._unit_times(rng, n)

    def _times(self, rng: np.random.Generator, rate_rps: float, n: int) -> Floats:
        inverse = self._inverse(rng)
        times = inverse(self._unit_times(rng, n) / rate_rps)
        return np.maximum.accumulate(times)  # the last bit of neighbours may be out of order
