"""M/G^[a,b]/1: one server that takes everybody who waits, up to a limit, as one batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Law
from qtheory.queues.result import QueueResult

from ._chain import solve_starts
from ._launch import Launch
from ._laws import batch_laws
from ._number import number_pmf
from ._starts import ServiceStarts
from .service import BatchService

__all__ = ["BatchQueue", "BatchResult"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult(QueueResult):
    """Steady state of a queue with batch service.

    Parameters
    ----------
    capacity_rps : float
        Stable below this rate.
    mean_batch_size : float
        Mean over services.
    mean_batch_seen : float
        Mean over customers, of the batch that served them.
    prob_server_idle : float
        Share of the time without a service.
    batch_pmf : callable (int) -> float
        Law of the batch size over services.

    Examples
    --------
    >>> from qtheory.queues.batch import MMb1
    >>> answer = MMb1(rate_rps=2.4, service_rate_rps=1.0, max_batch=3).solve()
    >>> print(f"{answer.mean_batch_size:.4f} {answer.mean_batch_seen:.4f} {answer.batch_pmf(3):.4f}")
    2.5075 2.7694 0.7109
    """

    capacity_rps: float
    mean_batch_size: float
    mean_batch_seen: float
    prob_server_idle: float
    batch_pmf: Callable[[int], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchQueue:
    r"""Exact M/G^[a,b]/1: up to ``max_batch`` customers at once, nobody joins a batch that runs.

    A free server with at least ``min_batch`` waiting starts at once with as many as it may take, in order of
    arrival, and all of a batch leave together. With fewer it waits, for ``timeout_s`` at most once somebody
    is there. ``min_batch = 1`` is the greedy rule M/G^[1,b]/1, ``min_batch = max_batch`` the full-batch rule.

    The number present at service starts is a Markov chain [1]_, [2]_. Its states above those listed are
    geometric; how many are listed follows from a formula for the mean number left behind that uses the batch
    sizes alone. Gamma services of large batches that vary much are solved by roots instead. Constant service
    times under the greedy rule give the laws of wait and response in closed form, weighted by the batch that
    customers see; otherwise they come from transforms.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : callable (int) -> Law
        Law of the service time of a batch of the given size, seconds; means must not fall with the size.
        See `AffineService` and `LongestMemberService`.
    max_batch : int
        Largest batch b, >= 1.
    min_batch : int
        Smallest batch a that starts without the timer, 1 <= a <= b.
    timeout_s : float
        Longest idle time with somebody waiting, seconds, > 0; infinite: there is no timer. The timer starts
        when the server is free and somebody is there.

    Raises
    ------
    ConfigError
        If a parameter is out of range, or a moment of the service is infinite.
    UnstableError
        From `solve` if the rate is not below the rate of full batches.
    ConvergenceError
        From `solve` if too many states are needed.

    References
    ----------
    .. [1] Bailey (1954), "On queueing processes with bulk service", J. Royal Stat. Soc. B 16, 80-87.
    .. [2] Neuts (1967), "A general class of bulk queues with Poisson input", Ann. Math. Stat. 38, 759-770.

    Examples
    --------
    >>> from qtheory.queues.batch import AffineService
    >>> queue = BatchQueue(rate_rps=8.0, service=AffineService(base_s=0.1, slope_s=0.01), max_batch=16)
    >>> answer = queue.solve()
    >>> print(f"{answer.mean_response_s:.3f} s, p99 {answer.response.ppf(0.99):.3f} s")
    0.155 s, p99 0.243 s
    """

    rate_rps: float
    service: BatchService
    max_batch: int
    min_batch: int = 1
    timeout_s: float = math.inf

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.integer(max_batch=self.max_batch, min_batch=self.min_batch)
        if self.min_batch > self.max_batch:
            raise ConfigError(f"min_batch: {self.min_batch} must be at most max_batch={self.max_batch}")
        if self.timeout_s != math.inf:
            checks.positive(timeout_s=self.timeout_s)
        if not callable(self.service):
            raise ConfigError(
                f"service: {self.service!r} must map a batch size to a law, as AffineService does"
            )
        full = self.service(self.max_batch)
        if not isinstance(full, Law) or not 0 < full.mean < math.inf:
            raise ConfigError(f"service: {full!r} for max_batch is not a law with a mean above 0")

    @property
    def capacity_rps(self) -> float:
        """Rate of full batches; stable strictly below it."""
        return self.max_batch / self.service(self.max_batch).mean

    def solve(self, *, max_states: int = 6000) -> BatchResult:
        """The steady state, on at most ``max_states`` numbers left behind."""
        if self.rate_rps >= self.capacity_rps:
            raise UnstableError(
                f"rate_rps={self.rate_rps:g} is not below capacity_rps={self.capacity_rps:g} "
                f"(max_batch={self.max_batch}); lower the rate, raise max_batch or shorten the service"
            )
        launch = Launch(rate_rps=self.rate_rps, least=self.min_batch, timeout_s=self.timeout_s)
        laws = [self.service(size) for size in range(1, self.max_batch + 1)]
        means = np.array([law.mean for law in laws])
        if np.any(np.diff(means) < -1e-12 * means[-1]):
            size = int(np.argmin(np.diff(means))) + 2
            raise ConfigError(
                f"service: a batch of {size} is faster than one of {size - 1}; means must not fall"
            )
        starts = solve_starts(laws, launch, max_states=max_states)
        return self._result(starts, launch, means)

    def _result(self, starts: ServiceStarts, launch: Launch, means: Floats) -> BatchResult:
        lam, size = self.rate_rps, np.arange(1, self.max_batch + 1)
        squares = means**2 + np.array([law.var for law in starts.laws])
        waited = starts.mean_left * means[-1] + 0.5 * lam * float(starts.batch @ squares)
        waited += float(starts.ended @ launch.waited_s)  # customer-seconds of waiting in a cycle
        mean_wait_s = waited / starts.mean_batch
        seen = starts.batch * size / starts.mean_batch
        mean_response_s = mean_wait_s + float(seen @ means)
        busy = starts.mean_service_s / starts.mean_cycle_s
        prob_wait, wait, response = batch_laws(starts, launch, mean_wait_s, mean_response_s)
        constant = all(isinstance(law, Constant) for law in starts.laws)
        return BatchResult(
            exactness="exact",
            route=f"chain of {starts.first_lumped} states at service starts with a geometric tail; laws "
            + ("in the time domain" if constant else "by transform inversion")
            + ("" if response else "; law of the response left out, too many states"),
            utilization_frac=busy,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=lam * mean_response_s,
            mean_queue=lam * mean_wait_s,
            prob_wait=prob_wait,
            prob_empty=float(starts.ended[0]) / lam / starts.mean_cycle_s,
            wait=wait,
            response=response,
            number_pmf=number_pmf(starts, launch),
            capacity_rps=self.capacity_rps,
            mean_batch_size=starts.mean_batch,
            mean_batch_seen=float(seen @ size),
            prob_server_idle=starts.mean_idle_s / starts.mean_cycle_s,
            batch_pmf=lambda k: float(starts.batch[k - 1]) if 1 <= k <= self.max_batch else 0.0,
        )
