"""When requests come: open arrivals at a rate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between
from qtheory.laws import Constant, Exponential, Gamma, Law, spell

from ._limits import CV_RANGE, check_span

__all__ = [
    "Arrivals",
    "ConstantArrivals",
    "GammaArrivals",
    "OpenArrivals",
    "PoissonArrivals",
    "spelled",
]

Floats = NDArray[np.float64]

_MOST = 100_000_000


class Arrivals(ABC):
    """How requests come about."""

    __slots__ = ()

    @property
    @abstractmethod
    def in_flight_cap(self) -> int:
        """Largest number of requests in flight at the client, 0 without a limit; more wait at the client."""


class OpenArrivals(Arrivals):
    """Arrivals that do not wait for answers: the same pattern at any rate, faster or slower.

    A new kind defines ``_unit_times``; a renewal process also has the law of its gaps. One whose pattern has
    a time of its own, which another rate does not stretch, is a `ModulatedArrivals`.
    """

    __slots__ = ()

    client_cap: int

    @property
    def in_flight_cap(self) -> int:
        return self.client_cap

    @property
    def own_rate_rps(self) -> float | None:
        """Mean rate that comes with the arrivals, requests per second; None if they fit any rate alike."""
        return None

    @property
    @abstractmethod
    def scv(self) -> float:
        """Squared coefficient of variation of the times between arrivals; a `ConfigError` if there is no one
        such number at all rates."""

    @abstractmethod
    def gap_law(self, rate_rps: float) -> Law:
        """Law of the time between arrivals in seconds at ``rate_rps`` requests per second; a `ConfigError` if
        it changes with time."""

    def dispersion(self, rate_rps: float) -> float:
        """Index of dispersion: variance of the number of arrivals in a long time, over its mean."""
        checks.positive(rate_rps=rate_rps)
        return self.scv  # of every renewal process

    @abstractmethod
    def _unit_times(self, rng: np.random.Generator, n: int) -> Floats:
        """First ``n`` arrivals at rate 1; a longer call with an equal generator starts with the same ones."""

    def arrival_times(
        self,
        rng: np.random.Generator,
        rate_rps: float,
        *,
        n: int | None = None,
        duration_s: float | None = None,
    ) -> Floats:
        """Arrivals in seconds: the first ``n``, or all in [0, ``duration_s``).

        Equal generators give the same pattern at every rate, stretched by 1 / rate (in modulated arrivals the
        calm and the busy times stay where they are).

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness; used for nothing else.
        rate_rps : float
            Mean arrival rate, requests per second, > 0.
        n : int, optional
            Number of arrivals, >= 1.
        duration_s : float, optional
            Length of the window, seconds, > 0. Exactly one of the two is needed.

        Raises
        ------
        ConfigError
            If a parameter is out of range, more than 100 million arrivals are asked for, or the last comes
            later than 1e9 s.
        """
        checks.positive(rate_rps=rate_rps)
        if n is not None and duration_s is None:
            checks.integer(n=n)
            _enough_memory(n)
            check_span(n / rate_rps, rate_rps=rate_rps)
            times = self._times(rng, rate_rps, n)
            check_span(float(times[-1]), arrivals=str(self))
            return times
        if duration_s is None or n is not None:
            raise ConfigError("n, duration_s: give one of the two")
        checks.positive(duration_s=duration_s)
        check_span(duration_s, duration_s=duration_s)
        return self._window(rng, rate_rps, duration_s)

    def _times(self, rng: np.random.Generator, rate_rps: float, n: int) -> Floats:
        return self._unit_times(rng, n) / rate_rps

    def _window(self, rng: np.random.Generator, rate_rps: float, duration_s: float) -> Floats:
        expected = rate_rps * duration_s
        _enough_memory(expected)
        spread = 8.0 * math.sqrt(expected * max(1.0, self.dispersion(rate_rps)))
        count = int(expected + min(spread, 4.0 * expected + 1000.0) + 64)
        start = rng.bit_generator.state
        while True:
            times = self._times(rng, rate_rps, count)
            if times[-1] >= duration_s:
                return times[: int(np.searchsorted(times, duration_s, side="left"))]
            rng.bit_generator.state = start  # too few: once more from the start, and more of them
            _enough_memory(count)
            count *= 2


def spelled(name: str, **values: float | tuple[float, ...]) -> str:
    """Text that `parse_arrivals` reads back; what is zero is left out."""
    given = [f"{key}={spell(value)}" for key, value in values.items() if value]
    return f"{name}({', '.join(given)})" if given else name


def _enough_memory(n: float) -> None:
    if n > _MOST:
        raise ConfigError(f"{n:,.0f} requests are more than {_MOST:,}; lower the rate or the duration")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonArrivals(OpenArrivals):
    """Independent clients: exponential times between arrivals.

    Parameters
    ----------
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.

    Raises
    ------
    ConfigError
        If ``client_cap`` is out of range.

    Examples
    --------
    >>> PoissonArrivals().arrival_times(np.random.default_rng(1), 2.0, n=3).round(3).tolist()
    [0.537, 0.691, 3.378]
    """

    client_cap: int = 0

    def __post_init__(self) -> None:
        checks.at_least(0, client_cap=self.client_cap)

    @property
    def scv(self) -> float:
        return 1.0

    def gap_law(self, rate_rps: float) -> Law:
        return Exponential(mean=1.0 / rate_rps)

    def _unit_times(self, rng: np.random.Generator, n: int) -> Floats:
        return np.cumsum(rng.standard_exponential(n))

    def __str__(self) -> str:
        return spelled("poisson", client_cap=self.client_cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaArrivals(OpenArrivals):
    """Renewal process with gamma gaps: bursty for ``cv`` above 1, regular below.

    The first gap is drawn like the others, as load generators do.

    Parameters
    ----------
    cv : float
        Coefficient of variation of the times between arrivals, 1e-6 .. 1e3 (1 is Poisson).
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> arrivals = GammaArrivals(cv=2.0)
    >>> arrivals.scv, str(arrivals), arrivals.gap_law(10.0).mean
    (4.0, 'gamma(cv=2)', 0.1)
    """

    cv: float
    client_cap: int = 0

    def __post_init__(self) -> None:
        checks.positive(cv=self.cv)
        number_between("cv", self.cv, *CV_RANGE)
        checks.at_least(0, client_cap=self.client_cap)

    @property
    def scv(self) -> float:
        return float(self.cv**2)

    def gap_law(self, rate_rps: float) -> Law:
        return Gamma(mean=1.0 / rate_rps, cv=self.cv)

    def _unit_times(self, rng: np.random.Generator, n: int) -> Floats:
        return np.cumsum(rng.standard_gamma(1.0 / self.scv, n)) * self.scv

    def __str__(self) -> str:
        return spelled("gamma", cv=self.cv, client_cap=self.client_cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantArrivals(OpenArrivals):
    """Evenly spaced requests; the first at 0.

    Parameters
    ----------
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.

    Raises
    ------
    ConfigError
        If ``client_cap`` is out of range.

    Examples
    --------
    >>> ConstantArrivals().arrival_times(np.random.default_rng(1), 2.0, duration_s=2.0).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """

    client_cap: int = 0

    def __post_init__(self) -> None:
        checks.at_least(0, client_cap=self.client_cap)

    @property
    def scv(self) -> float:
        return 0.0

    def gap_law(self, rate_rps: float) -> Law:
        return Constant(value=1.0 / rate_rps)

    def _unit_times(self, rng: np.random.Generator, n: int) -> Floats:
        return np.arange(n, dtype=np.float64)

    def __str__(self) -> str:
        return spelled("constant", client_cap=self.client_cap)
