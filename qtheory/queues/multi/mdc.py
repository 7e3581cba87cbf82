"""M/D/c: several servers with constant service; and E_k/D/c, which is the same queue with more servers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.numerics.markov import poisson_pmf, poisson_reach
from qtheory.numerics.taillaw import TailLaw
from qtheory.queues.result import QueueResult

from ._common import require_stable
from ._walk import QueueLaw, queue_law

__all__ = ["EkDc", "MDc"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MDc:
    r"""Exact M/D/c, first come first served: Poisson arrivals, constant service, c servers.

    Within one service time D everybody leaves who was in service, so the queue follows
    :math:`M'=(M+A-c)^+` with A Poisson [1]_. For :math:`(k-1)D\le t<kD` the wait obeys
    :math:`P(W>t)=E[P(M>kc-1-N)]` with N Poisson of mean :math:`\lambda(kD-t)` [2]_, a sum of positive terms.
    Those who queue behind a customer came during its wait, which gives the variance.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_s : float
        Constant service time D, seconds, > 0.
    n_servers : int
        c, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if ``rate_rps * service_s`` is not below ``n_servers``.

    References
    ----------
    .. [1] Crommelin (1932), "Delay probability formulae when the holding times are constant",
       Post Office Electr. Eng. J. 25, 41-50.
    .. [2] Franx (2001), "A simple solution for the M/D/c waiting time distribution", Oper. Res. Letters 29,
       221-229.

    Examples
    --------
    >>> answer = MDc(rate_rps=8.0, service_s=1.0, n_servers=10).solve()
    >>> print(f"{answer.mean_wait_s:.5f} s, p99 {answer.wait.ppf(0.99):.4f} s")
    0.10983 s, p99 0.9174 s
    """

    rate_rps: float
    service_s: float
    n_servers: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_s=self.service_s)
        checks.integer(n_servers=self.n_servers)

    def solve(self) -> QueueResult:
        """The steady state."""
        require_stable(self.rate_rps, self.service_s, self.n_servers)
        lam, load = self.rate_rps, self.rate_rps * self.service_s
        queue = queue_law(load, self.n_servers)
        wait = _wait(queue, lam, self.service_s, self.n_servers)
        return QueueResult(
            exactness="exact",
            route="random walk of the queue over service times",
            utilization_frac=load / self.n_servers,
            mean_wait_s=wait.mean_s,
            mean_response_s=wait.mean_s + self.service_s,
            mean_number=queue.mean + load,
            mean_queue=queue.mean,
            prob_wait=float(wait.sf(0.0)),
            prob_empty=float(queue.pmf[0] * poisson_pmf(0, load)),
            wait=wait,
            response=_later(wait, self.service_s),
            number_pmf=lambda n: _number(queue, load, n),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EkDc:
    r"""Exact E_k/D/c, first come first served: Erlang-k intervals, constant service.

    With equal service times it does not matter who serves whom, as long as the order is kept: the servers may
    take turns. So each of kc servers of M/D/kc with k times the rate sees the same arrivals as one of the c
    servers here, and the waits have the same law [1]_. Those present here are each k-th of those
    present there, counted from any of the k with the same chance.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate, requests per second, > 0.
    k : int
        Phases of an interval between arrivals, >= 1.
    service_s : float
        Constant service time, seconds, > 0.
    n_servers : int
        c, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if ``rate_rps * service_s`` is not below ``n_servers``.

    References
    ----------
    .. [1] Iversen (1983), "Decomposition of an M/D/(rk) queue with FIFO into k E_k/D/r queues with FIFO",
       Oper. Res. Letters 2, 20-21.

    Examples
    --------
    >>> answer = EkDc(rate_rps=0.8, k=2, service_s=1.0).solve()
    >>> print(f"{answer.mean_wait_s:.5f} s")
    0.90328 s
    """

    rate_rps: float
    k: int
    service_s: float
    n_servers: int = 1

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_s=self.service_s)
        checks.integer(k=self.k, n_servers=self.n_servers)

    def solve(self) -> QueueResult:
        """The steady state."""
        require_stable(self.rate_rps, self.service_s, self.n_servers)
        load = self.rate_rps * self.service_s
        rate, n_servers = self.k * self.rate_rps, self.k * self.n_servers
        queue = queue_law(rate * self.service_s, n_servers)
        wait = _wait(queue, rate, self.service_s, n_servers)
        return QueueResult(
            exactness="exact",
            route="M/D/kc with k times the rate",
            utilization_frac=load / self.n_servers,
            mean_wait_s=wait.mean_s,
            mean_response_s=wait.mean_s + self.service_s,
            mean_number=self.rate_rps * wait.mean_s + load,
            mean_queue=self.rate_rps * wait.mean_s,
            prob_wait=float(wait.sf(0.0)),
            prob_empty=self._number(queue, 0),
            wait=wait,
            response=_later(wait, self.service_s),
            number_pmf=lambda n: self._number(queue, n),
        )

    def _number(self, queue: QueueLaw, n: int) -> float:
        """P(n present): of those present in M/D/kc, in order of arrival, each k-th counts."""
        if n < 0:
            return 0.0
        k, load = self.k, self.k * self.rate_rps * self.service_s
        near = range(max((n - 1) * k + 1, 0), (n + 1) * k)
        return sum((1.0 - abs(m - n * k) / k) * _number(queue, load, m) for m in near)


def _wait(queue: QueueLaw, rate: float, service_s: float, n_servers: int) -> TailLaw:
    """Law of the wait in M/D/c."""

    def tail(t: Floats) -> Floats:
        return np.array([_franx(queue, rate, service_s, n_servers, float(x)) for x in t])

    mean_s = queue.mean / rate
    some = max(_franx(queue, rate, service_s, n_servers, 0.0), 1e-300)
    return TailLaw(
        tail=tail,
        mean_s=mean_s,
        variance_s2=queue.pairs / rate**2 - mean_s**2,
        scale_s=max(mean_s / some, 1e-6 * service_s),
    )


def _franx(queue: QueueLaw, rate: float, service_s: float, c: int, t: float) -> float:
    """E[P(M > kc - 1 - N)] with N Poisson(rate (k service_s - t))."""
    k = int(t / service_s) + 1
    mean = rate * max(k * service_s - t, 0.0)
    most = min(k * c, int(mean / queue.ratio + 12.0 * (mean / queue.ratio) ** 0.5) + 60)
    n = np.arange(most)
    tail = float(poisson_pmf(n, mean) @ queue.tail(k * c - 1 - n))
    return tail + float(poisson_reach(most, mean)) if most == k * c else tail


def _later(wait: TailLaw, service_s: float) -> TailLaw:
    """The same time, later by a constant."""

    def tail(t: Floats) -> Floats:
        late = np.ones(t.shape)
        late[t >= service_s] = wait.sf(t[t >= service_s] - service_s)
        return late

    mean_s = wait.mean_s + service_s
    return TailLaw(tail=tail, mean_s=mean_s, variance_s2=lambda: wait.var_s2, scale_s=mean_s)


def _number(queue: QueueLaw, load: float, n: int) -> float:
    """P(n present): the queue a service time ago and the arrivals since."""
    m = np.arange(max(n, 0) + 1)
    at = queue.tail(m - 1) - queue.tail(m)
    return float(at @ poisson_pmf(n - m, load)) if n >= 0 else 0.0
