"""M/M/c/K: several exponential servers and a limited number of places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.numerics.clock import ClockedLaw
from qtheory.numerics.markov import birth_death
from qtheory.queues.result import QueueResult

from ._common import check_little, places_law

__all__ = ["MMcK", "MMcKResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MMcKResult(QueueResult):
    """Steady state of a queue that turns arrivals away; times are of those accepted.

    Parameters
    ----------
    prob_block : float
        Share of the arrivals that are lost.
    throughput_rps : float
        Served per second.
    var_number : float
        Variance of the number present.

    Examples
    --------
    >>> from qtheory.queues.multi import MMcK
    >>> answer = MMcK(rate_rps=20.0, service_rate_rps=1.0, n_servers=20, capacity=20).solve()
    >>> print(f"{answer.prob_block:.5f} {answer.throughput_rps:.4f}")
    0.15889 16.8222
    """

    prob_block: float
    throughput_rps: float
    var_number: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MMcK:
    r"""Exact M/M/c/K: at most ``capacity`` present, an arrival that finds no place is lost.

    ``capacity = n_servers`` is Erlang's loss system. Times are of the accepted: who finds :math:`c+k-1`
    present waits for k exponential completions at rate :math:`c\mu` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0; may exceed the capacity.
    service_rate_rps : float
        Completions per second :math:`\mu` of a busy server, > 0.
    n_servers : int
        c, >= 1.
    capacity : int
        K, customers that can be present, those in service included, >= ``n_servers``.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Gross, Harris (1998), "Fundamentals of Queueing Theory", 3rd ed., section 2.4.

    Examples
    --------
    >>> answer = MMcK(rate_rps=3.0, service_rate_rps=1.0, n_servers=4, capacity=12).solve()
    >>> print(f"lost {answer.prob_block:.5f}, p99 wait {answer.wait.ppf(0.99):.4f} s")
    lost 0.01326, p99 wait 2.5585 s
    """

    rate_rps: float
    service_rate_rps: float
    n_servers: int
    capacity: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)
        checks.integer(n_servers=self.n_servers, capacity=self.capacity)
        if self.capacity < self.n_servers:
            raise ConfigError(f"capacity: {self.capacity} must be at least n_servers={self.n_servers}")

    def solve(self) -> MMcKResult:
        """The steady state."""
        lam, mu, c, k_max = self.rate_rps, self.service_rate_rps, self.n_servers, self.capacity
        n = np.arange(k_max + 1)
        busy = np.minimum(n, c)
        pmf, _ = birth_death(np.full(k_max, lam), mu * busy[1:])
        blocked = float(pmf[-1])
        accepted = pmf[:-1] / pmf[:-1].sum()
        served = lam * float(pmf[:-1].sum())
        check_little(1.0, served, mu * float(pmf @ busy))
        mean, mean_queue = float(pmf @ n), float(pmf @ (n - busy))
        place = accepted[c:]
        wait = places_law(place, c * mu)
        check_little(served, wait.mean_s, mean_queue)
        return MMcKResult(
            exactness="exact",
            route="birth-death chain",
            utilization_frac=float(pmf @ busy) / c,
            mean_wait_s=mean_queue / served,
            mean_response_s=mean / served,
            mean_number=mean,
            mean_queue=mean_queue,
            prob_wait=float(place.sum()),
            prob_empty=float(pmf[0]),
            wait=wait,
            response=self._response(place),
            number_pmf=lambda j: float(pmf[j]) if 0 <= j <= k_max else 0.0,
            prob_block=blocked,
            throughput_rps=served,
            var_number=float(pmf @ (n - mean) ** 2),
        )

    def _response(self, place: np.typing.NDArray[np.float64]) -> ClockedLaw:
        """On a clock of rate c mu: place k of the queue moves up at a jump, a service ends with 1 / c."""
        stay = 1.0 - 1.0 / self.n_servers
        served = [1.0 - float(place.sum())]  # in service, not done
        for start in place:
            served.append(served[-1] * stay + float(start))
        waiting = np.append(np.cumsum(place[::-1])[::-1], 0.0)
        return ClockedLaw(
            clock_per_s=self.n_servers * self.service_rate_rps, alive=np.array(served) + waiting, decay=stay
        )
