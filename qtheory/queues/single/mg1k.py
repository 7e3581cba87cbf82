"""M/G/1/K: a finite waiting room, any service law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw, TransformLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._common import all_atoms_of, check_little, has_moment
from ._finite_wait import ArrivalsInService, FiniteDeterministicWait, at_service_start, wait_moments
from .excess import require_law

__all__ = ["MG1K", "MG1KResult"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_HUGE = 1e200
_MOST_PLACES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MG1KResult(QueueResult):
    """Steady state of M/G/1/K; wait and response are of the accepted.

    Parameters
    ----------
    prob_block : float
        Share of the arrivals that are lost.
    throughput_rps : float
        Served per second.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = MG1K(rate_rps=1.0, service=Exponential(mean=1.0), capacity=4).solve()
    >>> round(answer.prob_block, 9), round(answer.throughput_rps, 9)
    (0.2, 0.8)
    """

    prob_block: float
    throughput_rps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MG1K:
    r"""Exact M/G/1/K at any load: at most K customers, the one in service included.

    The number left behind by departures is a chain whose cut equations have positive terms only:
    :math:`\pi_{n+1}a_0=\pi_0P(A>n)+\sum_{i=1}^n\pi_iP(A>n-i+1)`, A the arrivals in a service. At a random
    time :math:`p_n=\pi_n/(\pi_0+\rho)` for :math:`n<K` [1]_. The wait of the accepted comes from the joint
    transform of the number and the residual service, inverted in both.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0; any load.
    service : Law
        Service time S, seconds.
    capacity : int
        K, customers at most, 1 to 20,000; 1 is the loss system M/G/1/1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Cooper (1981), "Introduction to Queueing Theory", 2nd ed., North-Holland, section 5.9.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> answer = MG1K(rate_rps=0.9, service=Constant(value=1.0), capacity=4).solve()
    >>> print(f"{answer.prob_block:.6f} lost, {answer.mean_wait_s:.6f} s for the others")
    0.091356 lost, 1.154550 s for the others
    """

    rate_rps: float
    service: Law
    capacity: int

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        checks.integer(capacity=self.capacity)
        if self.capacity > _MOST_PLACES:
            raise ConfigError(
                f"capacity: {self.capacity} is more than {_MOST_PLACES}, what the chain can list; with "
                "so much room M/G/1 below saturation gives the same"
            )
        require_law(service=self.service)

    def solve(self) -> MG1KResult:
        """The steady state."""
        lam, k, mean_service_s = self.rate_rps, self.capacity, self.service.mean
        rho = lam * mean_service_s
        arrivals = ArrivalsInService(
            rate_rps=lam, service=self.service, finite_variance=has_moment(self.service, 2)
        )
        found = self._chain(arrivals)  # what an accepted customer finds, and a served one leaves behind
        excesses = arrivals.excesses(k)
        # lost in a service that starts with j customers: the arrivals beyond the K - j that there is room for
        lost = float(at_service_start(found)[1:] @ excesses[0][: k - 1][::-1]) if k > 1 else rho
        block, through = lost / (1 + lost), lam / (1 + lost)
        empty = float(found[0]) / (float(found[0]) + rho)
        pmf = np.append(found * (1 - block), block)  # (k+1,)
        mean_number = float(pmf @ np.arange(k + 1))
        mean_wait_s, variance_s2 = wait_moments(arrivals, found, excesses)
        mean_response_s = mean_wait_s + mean_service_s
        check_little(through, mean_service_s, rho / (float(found[0]) + rho))  # the busy share by both ways
        check_little(through, mean_response_s, mean_number)
        wait, response = self._laws(found, mean_wait_s, variance_s2)
        return MG1KResult(
            exactness="exact",
            route="embedded chain; laws by double transform inversion",
            utilization_frac=rho / (float(found[0]) + rho),
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=mean_number,
            mean_queue=through * mean_wait_s,
            prob_wait=float(found[1:].sum()),
            prob_empty=empty,
            wait=wait,
            response=response,
            number_pmf=lambda n: float(pmf[n]) if 0 <= n <= k else 0.0,
            prob_block=block,
            throughput_rps=through,
        )

    def _chain(self, arrivals: ArrivalsInService) -> Floats:
        """Probabilities of 0..K-1 customers left behind."""
        k = self.capacity
        more, none = arrivals.more(k), float(self.service.lst(self.rate_rps))
        pi = np.zeros(k)
        pi[0] = 1.0
        for n in range(k - 1):
            up = pi[0] * more[n] + (pi[1 : n + 1] @ more[n:0:-1] if n else 0.0)
            pi[n + 1] = up / none if none > 0 else math.inf
            if pi[n + 1] > _HUGE:
                pi[: n + 2] /= pi[n + 1]
        return np.asarray(pi / pi.sum())

    def _laws(self, found: Floats, mean_wait_s: float, variance_s2: float | None) -> tuple[TimeLaw, TimeLaw]:
        service, waits, alone = self.service, float(found[1:].sum()), float(found[0])
        if isinstance(service, Constant):
            wait = FiniteDeterministicWait(
                rate_rps=self.rate_rps,
                service_s=service.mean,
                found=found,
                mean_s=mean_wait_s,
                var_s2=variance_s2 or 0.0,
            )
            return wait, ShiftedLaw(law=wait, shift_s=service.mean)
        wait_lst = self._wait_lst(found)
        has_variance = variance_s2 is not None and has_moment(service, 2)
        common = partial(
            TransformLaw,
            worst=1e-5 if all_atoms_of(service) is None else 1e-3,
            cause="the second moment of the service is infinite",
        )
        return (
            common(
                tail_lst=lambda s: (waits - wait_lst(s)) / s,
                mean_s=mean_wait_s,
                variance_s2=variance_s2,
                prob_positive=waits,
            ),
            common(  # without those who find nobody, whose response may jump
                tail_lst=lambda s: (waits - wait_lst(s) * service.lst(s)) / s,
                known_tail=lambda t: alone * service.sf(t),
                mean_s=mean_wait_s + service.mean,
                variance_s2=variance_s2 + service.var if variance_s2 is not None and has_variance else None,
            ),
        )

    def _wait_lst(self, found: Floats) -> Callable[[Complexes], Complexes]:
        r"""Transform of the wait on finding 1..K-1.

        With :math:`q_j` customers at the start of a service, he finds n and the residual R with
        :math:`\lambda\sum_jq_jc_{n-j}(s)`, where :math:`\sum_mc_mz^m=(S^*(s)-S^*(\lambda-\lambda z))/
        (\lambda-\lambda z-s)`, and waits for R and n-1 services.
        """
        lam, k, service = self.rate_rps, self.capacity, self.service
        start = at_service_start(found)[1:]  # (k-1,) q_1, q_2, ...
        n_points = 1 << int(np.ceil(np.log2(4 * k)))
        radius = 10.0 ** (-13.0 / n_points)
        arrivals = lam * (1 - radius * np.exp(2j * np.pi * np.arange(n_points) / n_points))
        grown = radius ** -np.arange(k - 1.0)

        @cache
        def spread() -> Complexes:
            return np.asarray(service.lst(arrivals))

        def wait_lst(s: Complexes) -> Complexes:
            flat = np.asarray(s, dtype=np.complex128).ravel()
            whole = service.lst(flat)[:, None]
            joint = (whole - spread()) / (arrivals - flat[:, None])  # (s, z)
            came = np.fft.fft(joint, axis=1)[:, : k - 1] / n_points * grown  # (s, k-1) c_m
            power = whole ** np.arange(k - 1)
            upto = np.cumsum(came * power, axis=1)[:, ::-1]  # c_0 + ... + c_(k-1-j) S*^(k-1-j)
            value = lam * ((start * power) * upto).sum(axis=1)
            return np.asarray(value.reshape(np.shape(s)))

        return wait_lst
