"""Closed product-form network with one class, by convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.queues.result import QueueResult

from .stations import DelayStation, Station

__all__ = ["ClosedNetwork", "ClosedNetworkResult"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedNetworkResult(QueueResult):
    """Steady state of a closed network; response is the time per cycle without thinking.

    Parameters
    ----------
    throughput_rps : float
        Cycles per second.
    mean_number_by_station, utilization_by_station : tuple of float
        Time averages of customers, and busy shares of the servers.
    mean_response_s_by_station : tuple of float
        Mean time per cycle at each station, seconds.
    number_pmf_by_station : tuple of arrays
        P(n present), n = 0..population.

    Examples
    --------
    >>> from qtheory.queues.network import ClosedNetwork, ServerStation
    >>> answer = ClosedNetwork(stations=[ServerStation(demand_s=0.5)], population=3, think_s=1.0).solve()
    >>> print(f"{answer.throughput_rps:.4f} {answer.utilization_by_station[0]:.4f}")
    1.5789 0.7895
    """

    throughput_rps: float
    mean_number_by_station: tuple[float, ...]
    utilization_by_station: tuple[float, ...]
    mean_response_s_by_station: tuple[float, ...]
    number_pmf_by_station: tuple[Floats, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedNetwork:
    r"""Exact closed product-form network: ``population`` customers go round the stations.

    :math:`P(n_1,\dots,n_M)\propto\prod_i\prod_{k\le n_i}1/\mu_i(k)` with the rates of the stations; the
    normalising sums are convolutions [1]_, [2]_, kept in range by the rate of the slowest station (a common
    factor :math:`x^n` cancels). All sums have positive terms.

    Parameters
    ----------
    stations : sequence of Station
        `ServerStation`, `DelayStation`, `StepStation` or `RateStation`; at least one.
    population : int
        Customers, >= 1.
    think_s : float
        Mean think time per cycle, seconds, >= 0; any law.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Buzen (1973), "Computational algorithms for closed queueing networks with exponential servers",
       Comm. ACM 16, 527-531.
    .. [2] Reiser, Kobayashi (1975), "Queuing networks with multiple closed chains: theory and computational
       algorithms", IBM J. Res. Dev. 19, 283-294.

    Examples
    --------
    >>> from qtheory.queues.network import ServerStation
    >>> stations = [ServerStation(demand_s=0.3), ServerStation(demand_s=0.5), ServerStation(demand_s=0.2)]
    >>> answer = ClosedNetwork(stations=stations, population=10).solve()
    >>> print(f"{answer.throughput_rps:.6f} per second, {answer.mean_response_s:.4f} s")
    1.991337 per second, 5.0218 s
    """

    stations: Sequence[Station]
    population: int
    think_s: float = 0.0

    def __post_init__(self) -> None:
        checks.integer(population=self.population)
        checks.non_negative(think_s=self.think_s)
        if not len(self.stations):
            raise ConfigError("stations: empty; give at least one")
        object.__setattr__(self, "stations", tuple(self.stations))

    def solve(self) -> ClosedNetworkResult:
        """The steady state."""
        n_all = self.population
        places: list[Station] = list(self.stations)
        if self.think_s > 0:
            places.append(DelayStation(delay_s=self.think_s))
        rates = [station.rates(n_all) for station in places]
        unit = min(float(r[-1]) for r in rates)  # no station is faster than that for ever
        weights = [_scaled(np.append(0.0, np.cumsum(np.log(unit / r)))) for r in rates]
        others = _without_each(weights)
        pmfs = []
        for weight, other in zip(weights, others, strict=True):
            joint = weight * other[::-1]
            pmfs.append(joint / joint.sum())
        through = [float(pmf[1:] @ r) for pmf, r in zip(pmfs, rates, strict=True)]
        if max(through) > (1.0 + 1e-9) * min(through):
            raise ConvergenceError(f"throughput differs from station to station: {through}")
        n = np.arange(n_all + 1.0)
        means = [float(pmf @ n) for pmf in pmfs]
        if abs(sum(means) - n_all) > 1e-9 * n_all:
            raise ConvergenceError(f"{sum(means):.12g} customers found, {n_all} put in")
        return self._result(pmfs, means, through[0])

    def _result(self, pmfs: list[Floats], means: list[float], through: float) -> ClosedNetworkResult:
        count = len(self.stations)
        n = np.arange(self.population + 1.0)
        inside = sum(means[:count])
        busy = tuple(float(pmf @ s.busy_frac(n)) for pmf, s in zip(pmfs, self.stations, strict=False))
        return ClosedNetworkResult(
            exactness="exact",
            route="convolution",
            utilization_frac=max(busy),
            mean_response_s=inside / through,
            mean_number=inside,
            throughput_rps=through,
            mean_number_by_station=tuple(means[:count]),
            utilization_by_station=busy,
            mean_response_s_by_station=tuple(mean / through for mean in means[:count]),
            number_pmf_by_station=tuple(pmfs[:count]),
        )


def _scaled(log_weight: Floats) -> Floats:
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(log_weight - log_weight.max()), dtype=float)


def _convolved(a: Floats, b: Floats) -> Floats:
    found = np.zeros(len(a))
    one, other = np.flatnonzero(a), np.flatnonzero(b)  # most weights of a station that is not full are 0
    start = one[0] + other[0]
    part = np.convolve(a[one[0] : one[-1] + 1], b[other[0] : other[-1] + 1])[: len(a) - start]
    found[start : start + len(part)] = part
    return np.asarray(found / found.max(), dtype=float)


def _without_each(weights: list[Floats]) -> list[Floats]:
    """For each station the convolution of all others, from products of those before and after."""
    none = np.append(1.0, np.zeros(len(weights[0]) - 1))
    before = [none]
    for weight in weights[:-1]:
        before.append(_convolved(before[-1], weight))
    found = []
    after = none
    for left, weight in zip(reversed(before), reversed(weights), strict=True):
        found.append(_convolved(left, after))
        after = _convolved(after, weight)
    return found[::-1]
