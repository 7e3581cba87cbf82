"""Priority classes without interruption: Cobham's queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import TimeLaw
from qtheory.queues.single._common import all_atoms_of
from qtheory.queues.single.excess import Excess

from ._classes import CAUSE, Classes, PriorityResult, with_numbers
from ._kinks import KnownTail, OneFound

__all__ = ["NonpreemptivePriority"]

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class NonpreemptivePriority:
    r"""Exact M/G/1 with classes of priority, a service never interrupted, first come first served in a class.

    :math:`E[W_k]=\frac{\sum_j\lambda_jE[S_j^2]/2}{(1-\sigma_{k-1})(1-\sigma_k)}`, :math:`\sigma_k` the load
    of the classes 1 to k [1]_. The law of the wait is that of the work found, stretched by the more urgent
    arrivals [2]_.

    Parameters
    ----------
    rate_rps : sequence of float
        Mean arrival rates (Poisson), requests per second, > 0, the most urgent class first.
    service : sequence of Law
        Service times, seconds, one a class.

    Raises
    ------
    ConfigError
        If a parameter is out of range or a second moment is infinite.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Cobham (1954), "Priority assignment in waiting line problems", Operations Research 2, 70-76.
    .. [2] Kesten, Runnenburg (1957), "Priority in waiting line problems", Proc. Koninklijke Nederlandse
       Akademie van Wetenschappen A 60, 312-336.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> laws = [Exponential(mean=0.5), Exponential(mean=2.0)]
    >>> queue = NonpreemptivePriority(rate_rps=[0.2, 0.3], service=laws)
    >>> [round(wait_s, 4) for wait_s in queue.solve().mean_wait_s_by_class]
    [1.3889, 4.6296]
    """

    rate_rps: Sequence[float]
    service: Sequence[Law]

    def __post_init__(self) -> None:
        Classes.checked(self.rate_rps, self.service)

    def solve(self) -> PriorityResult:
        """The steady state, class by class."""
        classes = Classes.checked(self.rate_rps, self.service)
        classes.require_stable()
        rho, total = classes.load, sum(classes.rate_rps)
        n = len(classes.rate_rps)
        waits = [_wait_law(classes, k) for k in range(n)]
        responses = [_response_law(classes, k, waits[k]) for k in range(n)]
        mean_waits = tuple(law.mean_s for law in waits)
        mean_responses = tuple(law.mean_s for law in responses)
        mean_wait_s = sum(r * w for r, w in zip(classes.rate_rps, mean_waits, strict=True)) / total
        mean_response_s = sum(r * w for r, w in zip(classes.rate_rps, mean_responses, strict=True)) / total
        answer = PriorityResult(
            exactness="exact",
            route="Cobham's formula; laws by transform inversion",
            utilization_frac=rho,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_response_s,
            mean_number=total * mean_response_s,
            mean_queue=total * mean_wait_s,
            prob_wait=rho,
            prob_empty=1 - rho,
            mean_wait_s_by_class=mean_waits,
            mean_response_s_by_class=mean_responses,
            wait_by_class=tuple(waits),
            response_by_class=tuple(responses),
        )
        return with_numbers(
            answer, classes, lambda k, s: (1 - s * _whole_tail(classes, k, s)) * classes.service[k].lst(s)
        )


def _wait_law(classes: Classes, k: int) -> TransformLaw:
    """Law of the wait of class k, counted from 0."""
    ahead, equal, below = classes.upto(k), classes.upto(k + 1), classes.beyond(k + 1)
    left = 1 - equal.load
    mean_work = classes.flow(2) / 2 / left
    known = KnownTail(found=_found(classes, k, every=False))

    def tail_lst(s: Complexes) -> Complexes:
        return _whole_tail(classes, k, s) - known.lst(s)

    try:
        # what is left of a lower service, then the work of the equal classes as in M/G/1
        lower_mean, lower_second = below.flow(2) / 2 / left, below.flow(3) / 3 / left
        own = equal.flow(2) / 2 / left
        var_work = own**2 + equal.flow(3) / (3 * left) + lower_second - lower_mean**2
        variance_s2 = ahead.stretched_moments(mean_work, var_work)[1]
    except ConfigError:
        variance_s2 = None
    return TransformLaw(
        tail_lst=tail_lst,
        mean_s=mean_work / (1 - ahead.load),
        variance_s2=variance_s2,
        prob_positive=classes.load,
        known_tail=known.tail if known.found else None,
        worst=2e-4,
        cause=CAUSE,
    )


def _whole_tail(classes: Classes, k: int, s: Complexes) -> Complexes:
    """Transform of P(wait of class k > t): that of the work found, stretched."""
    ahead, equal, below = classes.upto(k), classes.upto(k + 1), classes.beyond(k + 1)
    sigma = ahead.stretched(s)
    same = equal.deficit(sigma)
    work = (same + below.deficit(sigma)) / (1 - equal.load + sigma * same)
    return np.asarray(work * sigma / s)


def _found(classes: Classes, k: int, *, every: bool) -> tuple[tuple[float, OneFound], ...]:
    """Weights of one service found, of the classes with atoms or of ``every`` class."""
    idle, urgent = 1 - classes.load, sum(classes.rate_rps[:k])
    return tuple(
        (rate * (idle if i <= k else 1.0), OneFound(law=law, urgent_rps=urgent))
        for i, (rate, law) in enumerate(zip(classes.rate_rps, classes.service, strict=True))
        if every or all_atoms_of(law) is not None
    )


def _response_law(classes: Classes, k: int, wait: TransformLaw) -> TimeLaw:
    """Wait plus an uninterrupted service."""
    law, idle = classes.service[k], 1 - classes.load
    known = KnownTail(found=_found(classes, k, every=True), own=law, alone=idle)
    is_atomic = all_atoms_of(law) is not None

    def tail_lst(s: Complexes) -> Complexes:
        waiting, served = _whole_tail(classes, k, s), law.mean * Excess(law=law).lst(s)
        if is_atomic:
            return waiting + (1 - s * waiting) * served - known.lst(s)
        return waiting + (1 - idle - s * waiting) * served  # known.lst is idle x served

    return TransformLaw(
        tail_lst=tail_lst,
        mean_s=wait.mean_s + law.mean,
        variance_s2=None if wait.variance_s2 is None else wait.variance_s2 + law.var,
        known_tail=known.tail,
        worst=2e-4,
        cause=CAUSE,
    )
