"""Queues whose wait is that of M/G/1 plus an independent delay: vacations and set-ups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law
from qtheory.numerics.inversion import pmf_of_pgf
from qtheory.numerics.timelaw import ShiftedLaw, TransformLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._common import check_little
from .excess import Excess
from .workload import Workload

__all__ = ["Delay", "DelayedResult", "solve_delayed"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_CAUSE = "the third moment of the service, the vacation or the set-up is infinite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The delay: X with probability ``whole_frac``, its excess with ``excess_frac``, else nothing."""

    law: Law
    whole_frac: float
    excess_frac: float

    def moment(self, k: int) -> float:
        """E[delay^k]."""
        return self.whole_frac * self.law.moment(k) + self.excess_frac * Excess(law=self.law).moment(k)

    def tail_lst(self, s: Complexes) -> Complexes:
        """Transform of P(delay > t)."""
        excess = Excess(law=self.law)
        _, left, deficit = excess.transforms(s)
        return self.whole_frac * self.law.mean * left + self.excess_frac * excess.mean_s * deficit

    def sf(self, t: Floats) -> Floats:
        """P(delay > t)."""
        return self.whole_frac * self.law.sf(t) + self.excess_frac * Excess(law=self.law).sf(t)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedResult(QueueResult):
    """Steady state of a queue with vacations or set-ups.

    Parameters
    ----------
    var_number : float or None
        Variance of the number present; None if a moment that it needs is infinite.
    """

    var_number: float | None


def solve_delayed(work: Workload, delay: Delay, route: str) -> DelayedResult:
    """The steady state; arrivals after a customer do not change his time, so the number follows from it."""
    lam, service, rho = work.rate_rps, work.service, work.load
    mean_wait_s = work.mean_s + delay.moment(1)
    try:
        var_s2: float | None = work.var_s2 + delay.moment(2) - delay.moment(1) ** 2
    except ConfigError:
        var_s2 = None
    wait, response = _laws(work, delay, mean_wait_s, var_s2)

    def number_pgf(z: Complexes) -> Complexes:
        s = lam * (1 - z)
        return work.lst(s) * (1 - s * delay.tail_lst(s)) * service.lst(s)

    mean_number = lam * (mean_wait_s + service.mean)
    prob_empty = _checked_empty(number_pgf, mean_number if var_s2 is not None else None)
    return DelayedResult(
        exactness="exact",
        route=route,
        utilization_frac=rho,
        mean_wait_s=mean_wait_s,
        mean_response_s=mean_wait_s + service.mean,
        mean_number=mean_number,
        mean_queue=lam * mean_wait_s,
        prob_wait=1 - (1 - rho) * (1 - delay.whole_frac - delay.excess_frac),
        prob_empty=prob_empty,
        wait=wait,
        response=response,
        number_pmf=pmf_of_pgf(number_pgf),
        var_number=None if var_s2 is None else mean_number + lam**2 * (var_s2 + service.var),
    )


def _checked_empty(number_pgf: Callable[[Complexes], Complexes], mean_number: float | None) -> float:
    """P(N = 0), and Little's law against the slope of the generating function at 1."""
    size = mean_number or 1.0
    # Broad laws bend close to 1, and of few customers few digits are left.
    step = min(1e-7 / min(size, 1.0), 1e-4) / (1 + size)
    at = number_pgf(np.array([0.0, 1 - step, 1 - 2 * step], dtype=np.complex128)).real
    if mean_number is not None:
        slope = (4 * (1 - at[1]) - (1 - at[2])) / (2 * step)  # second order in the step
        check_little(1.0, float(slope), mean_number, rtol=1e-3)
    return float(at[0])


def _laws(work: Workload, delay: Delay, mean_wait_s: float, var_s2: float | None) -> tuple[TimeLaw, TimeLaw]:
    service, rho = work.service, work.load
    has_kinks = bool(np.isfinite(delay.law.support[1]))

    def wait_tail_lst(s: Complexes) -> Complexes:
        lst, tail, _, _ = work.transforms(s)
        return tail + (lst - (1 - rho) * has_kinks) * delay.tail_lst(s)

    def response_tail_lst(s: Complexes) -> Complexes:
        lst, tail, _, left = work.transforms(s)
        waiting = tail + lst * delay.tail_lst(s)
        whole: Complexes = waiting + (1 - s * waiting) * service.mean * left
        return whole

    wait = TransformLaw(
        tail_lst=wait_tail_lst,
        mean_s=mean_wait_s,
        variance_s2=var_s2,
        prob_positive=1 - (1 - rho) * (1 - delay.whole_frac - delay.excess_frac),
        known_tail=(lambda t: (1 - rho) * delay.sf(t)) if has_kinks else None,
        cause=_CAUSE,
    )
    if isinstance(service, Constant):
        return wait, ShiftedLaw(law=wait, shift_s=service.mean)
    return wait, TransformLaw(
        tail_lst=response_tail_lst,
        mean_s=mean_wait_s + service.mean,
        variance_s2=None if var_s2 is None else var_s2 + service.var,
        cause=_CAUSE,
    )
