"""Open networks of exponential servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.multi import MMc
from qtheory.queues.result import QueueResult

__all__ = ["JacksonResult", "OpenJackson"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JacksonResult(QueueResult):
    """Steady state of an open network; response is from entry to exit.

    Parameters
    ----------
    arrival_rate_rps_by_station, mean_number_by_station, utilization_by_station : tuple of float
        Rates, time averages of customers, busy shares of the servers.
    visits_by_station : tuple of float
        Mean visits of a customer.
    stations : tuple of QueueResult
        Each station as a queue of its own, with the laws of a single visit.

    Examples
    --------
    >>> from qtheory.queues.network import OpenJackson
    >>> answer = OpenJackson(external_rps=[1.0], routing=[[0.5]], service_rate_rps=[4.0]).solve()
    >>> answer.arrival_rate_rps_by_station, answer.visits_by_station, answer.mean_number_by_station
    ((2.0,), (2.0,), (1.0,))
    """

    arrival_rate_rps_by_station: tuple[float, ...]
    mean_number_by_station: tuple[float, ...]
    utilization_by_station: tuple[float, ...]
    visits_by_station: tuple[float, ...]
    stations: tuple[QueueResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenJackson:
    r"""Exact open Jackson network: Poisson arrivals from outside, exponential servers, random routes.

    The flows obey :math:`\Lambda=\gamma+\Lambda P`; the stations are then independent M/M/c queues [1]_. The
    total time has no simple law (visits depend on each other), so only its mean is given.

    Parameters
    ----------
    external_rps : sequence of float
        Arrivals from outside at each station, requests per second, >= 0, not all zero.
    routing : sequence of sequences of float
        Row i: probabilities to go on to each station; the rest leaves.
    service_rate_rps : sequence of float
        Completions per second of a busy server of each station, > 0.
    n_servers : sequence of int
        Servers of each station, >= 1; default one each.

    Raises
    ------
    ConfigError
        If a parameter is out of range or somebody could never leave.
    UnstableError
        From `solve` if a station gets more than it can serve.

    References
    ----------
    .. [1] Jackson (1957), "Networks of waiting lines", Operations Research 5, 518-521.

    Examples
    --------
    >>> network = OpenJackson(
    ...     external_rps=[2.0, 0.0],
    ...     routing=[[0.0, 1.0], [0.3, 0.0]],
    ...     service_rate_rps=[1.2, 4.0],
    ...     n_servers=[3, 1],
    ... )
    >>> print(f"{network.solve().mean_response_s:.4f} s")
    3.6653 s
    """

    external_rps: Sequence[float]
    routing: Sequence[Sequence[float]]
    service_rate_rps: Sequence[float]
    n_servers: Sequence[int] = ()

    def __post_init__(self) -> None:
        count = len(self.external_rps)
        servers = tuple(self.n_servers) or (1,) * count
        if not count or len(self.service_rate_rps) != count or len(servers) != count:
            raise ConfigError("external_rps, service_rate_rps, n_servers: give one number of each a station")
        for rate in self.external_rps:
            checks.non_negative(external_rps=rate)
        if sum(self.external_rps) <= 0:
            raise ConfigError("external_rps: nobody comes from outside; give one rate > 0")
        for rate in self.service_rate_rps:
            checks.positive(service_rate_rps=rate)
        checks_of_servers(servers)
        if len(self.routing) != count or any(len(row) != count for row in self.routing):
            raise ConfigError(f"routing: must be {count} rows of {count} probabilities")
        p = np.array([[float(x) for x in row] for row in self.routing])
        if np.any(~((p >= 0) & (p <= 1))) or np.any(p.sum(axis=1) > 1 + 1e-12):
            raise ConfigError("routing: entries must be probabilities, and rows sum to at most 1")
        if np.max(np.abs(np.linalg.eigvals(p))) >= 1.0 - 1e-12:
            raise ConfigError("routing: somebody could never leave; give every station a way out")
        object.__setattr__(self, "external_rps", tuple(float(x) for x in self.external_rps))
        object.__setattr__(self, "routing", tuple(tuple(row) for row in p.tolist()))
        object.__setattr__(self, "service_rate_rps", tuple(float(x) for x in self.service_rate_rps))
        object.__setattr__(self, "n_servers", servers)

    def solve(self) -> JacksonResult:
        """The steady state."""
        outside, p = np.array(self.external_rps), np.array(self.routing)
        flow = np.linalg.solve((np.eye(len(p)) - p).T, outside)
        stations: list[QueueResult | None] = []
        for i, (rate, mu, c) in enumerate(zip(flow, self.service_rate_rps, self.n_servers, strict=True)):
            if rate >= c * mu:
                raise UnstableError(
                    f"station {i + 1} gets {rate:g} requests/s and serves at most {c * mu:g}; "
                    "lower external_rps or give it more servers"
                )
            visited = rate > 0
            stations.append(
                MMc(rate_rps=float(rate), service_rate_rps=mu, n_servers=c).solve() if visited else None
            )
        numbers = tuple(float(s.mean_number or 0.0) if s else 0.0 for s in stations)
        busy = tuple(s.utilization_frac if s else 0.0 for s in stations)
        total = sum(numbers)
        return JacksonResult(
            exactness="exact",
            route="product of M/M/c queues",
            utilization_frac=max(busy),
            mean_response_s=total / float(outside.sum()),
            mean_number=total,
            arrival_rate_rps_by_station=tuple(flow.tolist()),
            mean_number_by_station=numbers,
            utilization_by_station=busy,
            visits_by_station=tuple((flow / outside.sum()).tolist()),
            stations=tuple(s for s in stations if s),
        )


def checks_of_servers(servers: Sequence[int]) -> None:
    """Raise `ConfigError` unless every count is a whole number above zero."""
    for count in servers:
        checks.integer(n_servers=count)
