"""M/G/1/K: a finite waiting room, any service law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, pdtrc

from qtheory.basics import checks
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw, TransformLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._common import all_atoms_of, check_little
from ._finite_wait import FiniteDeterministicWait, at_service_start
from .excess import require_law, tail_quadrature

__all__ = ["MG1K", "MG1KResult"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_BEYOND = 400  # states of the unlimited queue summed for the tail above the room
_HUGE = 1e200


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
        K, customers at most, >= 1; 1 is the loss system M/G/1/1.

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
        require_law(service=self.service)

    def solve(self) -> MG1KResult:
        """The steady state."""
        lam, k, mean_service_s = self.rate_rps, self.capacity, self.service.mean
        rho = lam * mean_service_s
        inside, beyond = self._chain()
        empty = float(inside[0] / (inside[0] + rho * inside.sum()))  # p_0
        block = self._block(rho, inside, beyond)
        through = lam * (1 - block)
        pmf = np.append(inside / inside.sum() * (1 - block), block)  # (k+1,)
        mean_number = float(pmf @ np.arange(k + 1))
        mean_response_s = mean_number / through
        check_little(through, mean_service_s, 1 - empty)  # the busy share by both ways
        mean_wait_s = max(mean_response_s - mean_service_s, 0.0)
        found = inside / inside.sum()  # what an accepted customer finds
        wait, response = self._laws(found, mean_wait_s)
        return MG1KResult(
            exactness="exact",
            route="embedded chain; laws by double transform inversion",
            utilization_frac=1 - empty,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=mean_number,
            mean_queue=max(mean_number - (1 - empty), 0.0),
            prob_wait=float(1 - found[0]),
            prob_empty=empty,
            wait=wait,
            response=response,
            number_pmf=lambda n: float(pmf[n]) if 0 <= n <= k else 0.0,
            prob_block=block,
            throughput_rps=through,
        )

    def _more_arrivals(self, n: int) -> tuple[Floats, float]:
        """P(A > j) for j = 0..n-1 by sums of positive terms, and P(A = 0)."""
        lam, service = self.rate_rps, self.service
        j = np.arange(n)
        if (atoms := all_atoms_of(service)) is not None:
            more = pdtrc(j[:, None], lam * atoms[0]) @ atoms[1]
        else:  # P(A > j): the (j+1)-th arrival comes before the end
            x, weight = tail_quadrature(service, fine=min(0.25, 4 / math.sqrt(n)))
            with np.errstate(under="ignore"):
                more = np.exp(j[:, None] * np.log(lam * x) - lam * x - gammaln(j + 1)[:, None]) @ (
                    lam * weight
                )
        return np.asarray(more), float(service.lst(lam))

    def _chain(self) -> tuple[Floats, float]:
        """Weights of 0..K-1 customers, scaled; below a load of 1 also the weight of all states beyond."""
        k = self.capacity
        stable = self.rate_rps * self.service.mean < 1
        n_states = k + _BEYOND if stable else k
        more, none = self._more_arrivals(n_states)
        pi = np.zeros(n_states)
        pi[0] = 1.0
        for n in range(n_states - 1):
            up = pi[0] * more[n] + (pi[1 : n + 1] @ more[n:0:-1] if n else 0.0)
            pi[n + 1] = up / none
            if pi[n + 1] > _HUGE:
                pi[: n + 2] /= pi[n + 1]
        if not stable:
            return pi, math.inf
        last, before = pi[-1], pi[-2]
        ratio = min(last / before, 1 - 1e-15) if before > 0 else 0.0
        return pi[:k], float(pi[k:].sum() + last * ratio / (1 - ratio))

    def _block(self, rho: float, inside: Floats, beyond: float) -> float:
        """Share lost; where it is small not as a difference of two numbers near 1."""
        if rho < 0.95:
            late = beyond / (inside.sum() + beyond)  # P(N >= K) of the unlimited queue
            return float((1 - rho) * late / (1 - rho * late))
        return float(1 - 1 / (inside[0] / inside.sum() + rho))

    def _laws(self, found: Floats, mean_wait_s: float) -> tuple[TimeLaw, TimeLaw]:
        service = self.service
        if isinstance(service, Constant):
            wait = FiniteDeterministicWait(rate_rps=self.rate_rps, service_s=service.mean, found=found)
            return wait, ShiftedLaw(law=wait, shift_s=service.mean)
        wait_lst = self._wait_lst(found)

        def response_tail(s: Complexes) -> Complexes:
            return (1 - wait_lst(s) * service.lst(s)) / s

        cause = "not computed for a finite room"
        return (
            TransformLaw(
                tail_lst=lambda s: (1 - wait_lst(s)) / s,
                mean_s=mean_wait_s,
                prob_positive=float(1 - found[0]),
                worst=1e-5,
                cause=cause,
            ),
            TransformLaw(tail_lst=response_tail, mean_s=mean_wait_s + service.mean, worst=1e-5, cause=cause),
        )

    def _wait_lst(self, found: Floats) -> Callable[[Complexes], Complexes]:
        r"""Transform of the wait of one who finds 0..K-1.

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
            value = found[0] + lam * ((start * power) * upto).sum(axis=1)
            return np.asarray(value.reshape(np.shape(s)))

        return wait_lst
