"""Stations of closed product-form networks: completions per second with n customers present."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["DelayStation", "RateStation", "ServerStation", "Station", "StepStation"]

Floats = NDArray[np.float64]

_LEAST_S = 1e-290


class Station(Protocol):
    """A station that each customer visits once a cycle."""

    def rates(self, population: int) -> Floats:
        """Completions per second with n = 1..population present, > 0."""
        ...

    def busy_frac(self, n: Floats) -> Floats:
        """Busy share of the servers with n present."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStation:
    """Equal servers and one queue (FCFS with exponential service, or processor sharing with any law).

    Parameters
    ----------
    demand_s : float
        Total service a customer needs per cycle, seconds on one server, > 0.
    n_servers : int
        Servers, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> ServerStation(demand_s=0.5, n_servers=2).rates(3).tolist()
    [2.0, 4.0, 4.0]
    """

    demand_s: float
    n_servers: int = 1

    def __post_init__(self) -> None:
        checks.positive(demand_s=self.demand_s)
        checks.integer(n_servers=self.n_servers)

    def rates(self, population: int) -> Floats:
        """Completions per second with n = 1..population present."""
        return np.minimum(np.arange(1, population + 1), self.n_servers) / self.demand_s

    def busy_frac(self, n: Floats) -> Floats:
        """Busy share of the servers with n present."""
        return np.minimum(n, self.n_servers) / self.n_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayStation:
    """A place where nobody waits, as thinking.

    Parameters
    ----------
    delay_s : float
        Mean stay per cycle, seconds, >= 1e-290, so that rates are numbers; any law.

    Raises
    ------
    ConfigError
        If ``delay_s`` is less.

    Examples
    --------
    >>> DelayStation(delay_s=2.0).rates(3).tolist()
    [0.5, 1.0, 1.5]
    """

    delay_s: float

    def __post_init__(self) -> None:
        checks.positive(delay_s=self.delay_s)
        if self.delay_s < _LEAST_S:
            raise ConfigError(f"delay_s: {self.delay_s:g} must be >= {_LEAST_S:g}, or left out")

    def rates(self, population: int) -> Floats:
        """Completions per second with n = 1..population present."""
        return np.arange(1, population + 1) / self.delay_s

    def busy_frac(self, n: Floats) -> Floats:
        """Zero: there are as many servers as customers."""
        return np.zeros(np.shape(n))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStation:
    r"""A server that works in steps: with n in the batch a step takes ``base_s + slope_s * n``.

    n of them complete at the rate :math:`n/(m(\mathrm{base}+\mathrm{slope}\cdot n))`, as in `StepServer`.

    Parameters
    ----------
    base_s, slope_s : float
        Seconds of a step: fixed part and part per customer, >= 0, not both zero.
    mean_steps : float
        Mean work m of a visit, steps, > 0.
    max_running : int or None
        Largest batch, >= 1; None: no limit.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> StepStation(base_s=0.02, slope_s=0.01, mean_steps=10, max_running=2).rates(3).round(4).tolist()
    [3.3333, 5.0, 5.0]
    """

    base_s: float
    slope_s: float
    mean_steps: float
    max_running: int | None = None

    def __post_init__(self) -> None:
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s)
        checks.positive(mean_steps=self.mean_steps)
        if self.base_s + self.slope_s <= 0:
            raise ConfigError("base_s, slope_s: one of them must be > 0")
        if self.max_running is not None:
            checks.integer(max_running=self.max_running)

    def rates(self, population: int) -> Floats:
        """Completions per second with n = 1..population present."""
        n = np.minimum(np.arange(1, population + 1), self.max_running or population)
        return np.asarray(n / (self.mean_steps * (self.base_s + self.slope_s * n)), dtype=float)

    def busy_frac(self, n: Floats) -> Floats:
        """1 with anybody present."""
        return (np.asarray(n) > 0).astype(float)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStation:
    """A station with any rates.

    Parameters
    ----------
    rate_rps : callable (int) -> float
        Completions per second with n >= 1 present, > 0.

    Raises
    ------
    ConfigError
        From `rates` if a rate is not a finite number above zero.

    Examples
    --------
    >>> RateStation(rate_rps=lambda n: n**0.5).rates(4).round(4).tolist()
    [1.0, 1.4142, 1.7321, 2.0]
    """

    rate_rps: Callable[[int], float]

    def rates(self, population: int) -> Floats:
        """Completions per second with n = 1..population present."""
        found = np.array([float(self.rate_rps(n)) for n in range(1, population + 1)])
        if np.any(~((found > 0) & np.isfinite(found))):
            raise ConfigError(f"rate_rps: must be finite and > 0 for n = 1..{population}")
        return found

    def busy_frac(self, n: Floats) -> Floats:
        """1 with anybody present."""
        return (np.asarray(n) > 0).astype(float)
