"""Priority classes with interruption, the work done being kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.single._common import all_atoms_of

from ._classes import CAUSE, Classes, PriorityResult, with_numbers
from ._kinks import KnownTail, OneFound

__all__ = ["PreemptiveResumePriority"]

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptiveResumePriority:
    r"""Exact M/G/1 with classes of priority and interruption; a service goes on where it stopped.

    :math:`E[T_k]=\frac{E[S_k]}{1-\sigma_{k-1}}
    +\frac{\sum_{i\le k}\lambda_iE[S_i^2]/2}{(1-\sigma_{k-1})(1-\sigma_k)}`,
    :math:`\sigma_k` the load of the classes 1 to k; class k does not notice those below [1]_. The response is
    the work of the classes up to k plus the own service, stretched by the more urgent arrivals.

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
    .. [1] Conway, Maxwell, Miller (1967), "Theory of Scheduling", Addison-Wesley, section 8-7.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = PreemptiveResumePriority(rate_rps=[0.3, 0.4], service=[Exponential(mean=1.0)] * 2)
    >>> [round(response_s, 4) for response_s in queue.solve().mean_response_s_by_class]
    [1.4286, 4.7619]
    """

    rate_rps: Sequence[float]
    service: Sequence[Law]

    def __post_init__(self) -> None:
        Classes.checked(self.rate_rps, self.service)

    def solve(self) -> PriorityResult:
        """The steady state, class by class."""
        classes = Classes.checked(self.rate_rps, self.service)
        classes.require_stable()
        total = sum(classes.rate_rps)
        laws = [_laws(classes, k) for k in range(len(classes.rate_rps))]
        mean_waits = tuple(wait.mean_s for wait, _ in laws)
        mean_responses = tuple(response.mean_s for _, response in laws)
        mean_response_s = sum(r * t for r, t in zip(classes.rate_rps, mean_responses, strict=True)) / total
        answer = PriorityResult(
            exactness="exact",
            route="work found and own service, stretched by the more urgent classes; laws by inversion",
            utilization_frac=classes.load,
            mean_wait_s=sum(r * w for r, w in zip(classes.rate_rps, mean_waits, strict=True)) / total,
            mean_response_s=mean_response_s,
            mean_number=total * mean_response_s,
            prob_empty=1 - classes.load,
            mean_wait_s_by_class=mean_waits,
            mean_response_s_by_class=mean_responses,
            wait_by_class=tuple(wait for wait, _ in laws),
            response_by_class=tuple(response for _, response in laws),
        )
        return with_numbers(answer, classes, lambda k, s: _response_lst(classes, k, s))


def _work_tail(equal: Classes, sigma: Complexes) -> Complexes:
    """Transform of P(work found > x) by the classes up to the own one."""
    same = equal.deficit(sigma)
    return np.asarray(same / (1 - equal.load + sigma * same))


def _response_lst(classes: Classes, k: int, s: Complexes) -> Complexes:
    """E[exp(-s response)] of class k."""
    sigma = classes.upto(k).stretched(s)
    return np.asarray((1 - sigma * _work_tail(classes.upto(k + 1), sigma)) * classes.service[k].lst(sigma))


def _laws(classes: Classes, k: int) -> tuple[TransformLaw, TransformLaw]:
    """Time to the first start of service, and response, of class k counted from 0."""
    ahead, equal, law = classes.upto(k), classes.upto(k + 1), classes.service[k]
    left, open_frac = 1 - equal.load, 1 - ahead.load
    work_mean = equal.flow(2) / 2 / left
    early = KnownTail(found=_found(equal, every=False))
    alone = left if all_atoms_of(law) is not None else 0.0
    known = KnownTail(found=_found(equal, every=True), own=law, alone=alone, own_rps=sum(ahead.rate_rps))

    def wait_tail(s: Complexes) -> Complexes:
        sigma = ahead.stretched(s)
        return _work_tail(equal, sigma) * sigma / s - early.lst(s)

    def response_tail(s: Complexes) -> Complexes:
        return (1 - _response_lst(classes, k, s)) / s - (known.lst(s) if alone else 0.0)

    wait_var, response_var = _variances(classes, k, work_mean)
    wait = TransformLaw(
        tail_lst=wait_tail,
        mean_s=work_mean / open_frac,
        variance_s2=wait_var,
        prob_positive=equal.load,
        known_tail=early.tail if early.found else None,
        worst=2e-4,
        cause=CAUSE,
    )
    return wait, TransformLaw(
        tail_lst=response_tail,
        mean_s=(work_mean + law.mean) / open_frac,
        variance_s2=response_var,
        known_tail=known.tail if alone else None,
        worst=1e-2 if alone else 2e-4,  # an interrupted constant service has ever smaller jumps
        cause=CAUSE,
    )


def _variances(classes: Classes, k: int, work_mean: float) -> tuple[float | None, float | None]:
    """Of the time to the first start and of the response; None if infinite."""
    ahead, equal, law = classes.upto(k), classes.upto(k + 1), classes.service[k]
    try:
        work_var = work_mean**2 + equal.flow(3) / (3 * (1 - equal.load))
        wait_var = ahead.stretched_moments(work_mean, work_var)[1]
        return wait_var, ahead.stretched_moments(work_mean + law.mean, work_var + law.var)[1]
    except ConfigError:
        return None, None


def _found(equal: Classes, *, every: bool) -> tuple[tuple[float, OneFound], ...]:
    """Weights of one service found, of the classes with atoms or of ``every`` class up to the own one."""
    idle, urgent = 1 - equal.load, sum(equal.rate_rps[:-1])
    return tuple(
        (rate * idle, OneFound(law=law, urgent_rps=urgent))
        for rate, law in zip(equal.rate_rps, equal.service, strict=True)
        if every or all_atoms_of(law) is not None
    )
