"""M/G/1 with a limit on the work in the system: customers who would be late are turned away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import ShiftedLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._bounded_number import BoundedNumber, WholeServices, response_limited, wait_limited
from ._impatience import AcceptedWait, SumTail, UnlimitedWork
from ._volterra import GridTail, solve_response_limit, solve_wait_limit
from .excess import require_law

__all__ = ["BoundedWorkload", "BoundedWorkloadResult"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedWorkloadResult(QueueResult):
    """Steady state under a limit; wait and response are of the accepted.

    Parameters
    ----------
    prob_block : float
        Share of the arrivals that are turned away.
    throughput_rps : float
        Accepted per second.
    accepted_work_frac : float
        Share of the offered work that is accepted: smaller than the share of customers where long ones are
        turned away first.
    accept_given_size : callable (array of seconds) -> array
        Probability that a customer of that size is accepted.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = BoundedWorkload(rate_rps=0.9, service=Exponential(mean=1.0), limit_s=2.0).solve()
    >>> print(f"{answer.accepted_work_frac:.3f} of the work in {1 - answer.prob_block:.3f} of the requests")
    0.498 of the work in 0.792 of the requests
    """

    prob_block: float
    throughput_rps: float
    accepted_work_frac: float
    accept_given_size: Callable[[ArrayLike], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedWorkload:
    r"""Exact M/G/1 with bounded workload, at any load: what would be late is shed on arrival.

    A customer is accepted if the work V found (``rule="wait"``), or the work found plus his own
    (``rule="response"``), is at most ``limit_s``. The density f of V solves, for the second rule,
    :math:`f(x)=\lambda p_0P(x<S\le d)+\lambda\int_0^xf(y)P(x-y<S\le d-y)dy` [1]_, [2]_: product integration
    on two grids, extrapolated, good to about 1e-6 (percentiles to the grid). The first rule is that of
    customers who leave after waiting d: :math:`P(V\le x)=p_0H(x)` below d with H the series of excesses,
    inverted exactly. The number follows from who is accepted behind a customer while he is there, on grids,
    extrapolated, to about 1e-6 (1e-5 for sizes of few values); of constant services it is the work in
    services, rounded up.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0; any load.
    service : Law
        Service time S, seconds.
    limit_s : float
        Largest wait or response d, seconds, > 0.
    rule : str
        ``response`` (default) or ``wait``.
    n_points : int
        Points of the finer grid of ``response``, >= 64.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    ConvergenceError
        From `solve`, or from the law of the number, if its grids disagree.

    References
    ----------
    .. [1] Gavish, Schweitzer (1977), "The Markovian queue with bounded waiting time", Management Science 23,
       1349-1357.
    .. [2] Cohen (1969), "Single server queues with restricted accessibility", J. Engineering Math. 3,
       265-284.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = BoundedWorkload(rate_rps=15.0, service=Exponential(mean=0.1), limit_s=0.3).solve()
    >>> print(f"{answer.prob_block:.4f} turned away, {answer.mean_response_s:.4f} s for the others")
    0.2002 turned away, 0.1559 s for the others
    """

    rate_rps: float
    service: Law
    limit_s: float
    rule: Literal["response", "wait"] = "response"
    n_points: int = 1024

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, limit_s=self.limit_s)
        checks.one_of("rule", self.rule, ["response", "wait"])
        checks.at_least(64, n_points=self.n_points)
        require_law(service=self.service)

    def solve(self) -> BoundedWorkloadResult:
        """The steady state."""
        if self.rule == "wait":
            return self._by_wait()
        if isinstance(self.service, Constant):  # then a limit on the response is one on the wait
            if self.limit_s < self.service.mean:
                return self._nobody()
            room = max(self.limit_s - self.service.mean, 1e-12 * self.service.mean)
            same = replace(self, limit_s=room, rule="wait")._by_wait()
            return replace(same, accept_given_size=lambda x: np.full(np.shape(x), 1 - same.prob_block))
        return self._by_response()

    def _by_wait(self) -> BoundedWorkloadResult:
        work = UnlimitedWork(rate_rps=self.rate_rps, service=self.service, limit_s=self.limit_s)
        total, block, mean_wait_s = work.below()
        empty = 1 / (1 + work.load * total)
        wait = AcceptedWait(work=work, total=total, mean_s=mean_wait_s)
        response: TimeLaw
        if isinstance(self.service, Constant):
            response = ShiftedLaw(law=wait, shift_s=self.service.mean)
        else:
            idle, point, mass = solve_wait_limit(self.rate_rps, self.service, self.limit_s, self.n_points)
            response = SumTail(
                service=self.service,
                empty_frac=idle,
                point=point,
                mass=mass,
                wait=wait,
            )
        found = self._result(
            empty, block, mean_wait_s, (wait, response), lambda x: np.full(np.shape(x), 1 - block)
        )
        if isinstance(self.service, Constant):
            mean = found.throughput_rps * (mean_wait_s + self.service.mean)
            return replace(found, number_pmf=WholeServices(work=work, empty=empty, mean=mean))
        number = self._counted(
            lambda m: (1 - block) * wait_limited(self.rate_rps, self.service, self.limit_s, m), empty
        )
        return replace(found, number_pmf=number)

    def _counted(self, tails: Callable[[int], Floats], empty: float) -> BoundedNumber:
        return BoundedNumber(tails=tails, n_points=self.n_points, empty=empty)

    def _by_response(self) -> BoundedWorkloadResult:
        lam, s, d = self.rate_rps, self.service, self.limit_s
        n = self.n_points - self.n_points % 2
        coarse, fine = (solve_response_limit(lam, s, d, m) for m in (n // 2, n))
        if fine.block >= 1:
            return self._nobody()
        if abs(fine.block - coarse.block) > 1e-3:
            raise ConvergenceError(
                f"turned away {coarse.block:.4g} on {n // 2} points, {fine.block:.4g} on {n}; raise n_points"
            )

        def given_size(size: ArrayLike) -> Floats:
            left = d - np.asarray(size, dtype=float)
            below = fine.empty + np.concatenate([[0.0], np.cumsum(fine.mass)])
            return np.where(left >= 0, np.interp(left, fine.x, below), 0.0)

        laws = [GridTail(x=fine.x, cdf=cdf / (1 - fine.block)) for cdf in (fine.wait_cdf, fine.response_cdf)]
        empty = _extrapolated(coarse.empty, fine.empty)
        found = self._result(
            empty,
            _extrapolated(coarse.block, fine.block),
            _extrapolated(coarse.mean_wait_s, fine.mean_wait_s),
            (laws[0], laws[1]),
            given_size,
        )
        return replace(found, number_pmf=self._counted(lambda m: response_limited(lam, s, d, m), empty))

    def _result(
        self,
        empty: float,
        block: float,
        mean_wait_s: float,
        laws: tuple[TimeLaw, TimeLaw],
        given_size: Callable[[ArrayLike], Floats],
    ) -> BoundedWorkloadResult:
        through = self.rate_rps * (1 - block)
        mean_response_s = mean_wait_s + (1 - empty) / through  # busy share over rate: accepted mean size
        by_wait = self.rule == "wait"
        return BoundedWorkloadResult(
            exactness="exact" if by_wait else "numerical",
            route="series of excesses by inversion" if by_wait else "Volterra equation on two grids",
            utilization_frac=1 - empty,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=through * mean_response_s,
            mean_queue=through * mean_wait_s,
            prob_wait=float(laws[0].sf(0.0)),
            prob_empty=empty,
            wait=laws[0],
            response=laws[1],
            prob_block=block,
            throughput_rps=through,
            accepted_work_frac=min((1 - empty) / (self.rate_rps * self.service.mean), 1.0),  # rounding
            accept_given_size=given_size,
        )

    def _nobody(self) -> BoundedWorkloadResult:
        """Every customer alone is longer than the limit."""
        return BoundedWorkloadResult(
            exactness="exact",
            route="no service is short enough",
            utilization_frac=0.0,
            mean_number=0.0,
            mean_queue=0.0,
            prob_empty=1.0,
            prob_block=1.0,
            throughput_rps=0.0,
            accepted_work_frac=0.0,
            accept_given_size=lambda x: np.zeros(np.shape(x)),
            number_pmf=lambda n: float(n == 0),
        )


def _extrapolated(coarse: float, fine: float) -> float:
    """Second order taken out, unless that takes a tiny probability below zero."""
    value = (4 * fine - coarse) / 3
    return value if value > 0 else fine
