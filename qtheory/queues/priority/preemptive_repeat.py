"""Priority classes with interruption, the interrupted service starting again from nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError, UnstableError
from qtheory.laws.law import Law
from qtheory.queues.single._common import all_atoms_of
from qtheory.queues.single.excess import tail_quadrature

from ._classes import Classes, PriorityResult, with_numbers
from ._repeat import RepeatedClass

__all__ = ["PreemptiveRepeatPriority"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interruption:
    """Urgent work as class k sees it: it comes at a rate, and lasts a busy period with these two moments."""

    rate_rps: float
    mean_s: float
    second_s2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptiveRepeatPriority:
    r"""Exact M/G/1 with classes of priority where an interrupted service starts anew.

    With interruptions at rate :math:`\Lambda` of mean :math:`E[B]` (busy periods of the more urgent classes)
    the time from first start to end has the mean :math:`(1/\Lambda+E[B])(1/S^*(\Lambda)-1)` if each attempt
    draws a new service (``different``) and :math:`(1/\Lambda+E[B])(E[e^{\Lambda S}]-1)` if it is the same
    work again (``identical``) [1]_, [2]_. With two moments of it each class is an M/G/1 queue whose server
    may be away when somebody comes.

    Parameters
    ----------
    rate_rps : sequence of float
        Mean arrival rates (Poisson), requests per second, > 0, the most urgent class first.
    service : sequence of Law
        Service times, seconds, one a class.
    repeat : str
        ``different`` (default) or ``identical``.

    Raises
    ------
    ConfigError
        If a parameter is out of range, or from `solve` if the repeated work of a class has no second moment.
    UnstableError
        From `solve` if a class cannot be served.

    References
    ----------
    .. [1] Gaver (1962), "A waiting line with interrupted service, including priorities", J. Royal Statistical
       Society B 24, 73-90.
    .. [2] Jaiswal (1968), "Priority Queues", Academic Press, chapter 4.

    Examples
    --------
    >>> from qtheory.laws import Constant, Exponential
    >>> laws = [Exponential(mean=0.5), Constant(value=1.0)]
    >>> queue = PreemptiveRepeatPriority(rate_rps=[0.4, 0.3], service=laws)
    >>> [round(response_s, 4) for response_s in queue.solve().mean_response_s_by_class]
    [0.625, 2.6856]
    """

    rate_rps: Sequence[float]
    service: Sequence[Law]
    repeat: Literal["different", "identical"] = "different"

    def __post_init__(self) -> None:
        Classes.checked(self.rate_rps, self.service)
        checks.one_of("repeat", self.repeat, ["different", "identical"])

    def solve(self) -> PriorityResult:
        """The steady state, class by class."""
        classes = Classes.checked(self.rate_rps, self.service)
        chain, waits, busy = self._chain(classes)
        responses = [wait + one.mean_completion_s for wait, one in zip(waits, chain, strict=True)]
        laws = [
            one.laws((w, r), has_variance=self._has_third(classes, k))
            for k, (one, w, r) in enumerate(zip(chain, waits, responses, strict=True))
        ]
        share = np.array(classes.rate_rps) / sum(classes.rate_rps)
        mean_response_s = float(share @ responses)
        answer = PriorityResult(
            exactness="exact",
            route=f"completion times under repeat-{self.repeat}, then M/G/1 with interruptions; laws by "
            "transform inversion",
            utilization_frac=busy,
            mean_wait_s=float(share @ waits),
            mean_response_s=mean_response_s,
            mean_number=sum(classes.rate_rps) * mean_response_s,
            prob_wait=float(share @ [1 - one.idle for one in chain]),
            prob_empty=1 - busy,
            mean_wait_s_by_class=tuple(waits),
            mean_response_s_by_class=tuple(responses),
            wait_by_class=tuple(wait for wait, _ in laws),
            response_by_class=tuple(response for _, response in laws),
        )
        return with_numbers(answer, classes, lambda k, s: chain[k].response(s))

    def _chain(self, classes: Classes) -> tuple[list[RepeatedClass], list[float], float]:
        """The classes one above the other, their mean waits, and the busy share of the server."""
        above = _Interruption(rate_rps=0.0, mean_s=0.0, second_s2=0.0)
        waits: list[float] = []
        chain: list[RepeatedClass] = []
        for k, (rate, law) in enumerate(zip(classes.rate_rps, classes.service, strict=True), start=1):
            mean, second = self._completion(law, above, k)
            load = rate * mean
            if load >= 1:
                raise UnstableError(
                    f"rate_rps: class {k} and its repeated work bring a load of {load:g}, not below 1; "
                    f"lower the rate of class {k} or of those before it"
                )
            away = above.rate_rps * above.mean_s
            residual = away / (1 + away) * above.second_s2 / (2 * above.mean_s) if away else 0.0
            waits.append(rate * second / (2 * (1 - load)) + residual)
            one = RepeatedClass(
                rate_rps=rate,
                law=law,
                mean_completion_s=mean,
                completion_second_s2=second,
                identical=self.repeat == "identical",
                above=chain[-1] if chain else None,
                urgent_rps=above.rate_rps,
                mean_away_s=above.mean_s,
                away_second_s2=above.second_s2,
            )
            chain.append(one)
            above = _with_class(above, rate, mean, second, load)
        return chain, waits, above.rate_rps * above.mean_s / (1 + above.rate_rps * above.mean_s)

    def _has_third(self, classes: Classes, k: int) -> bool:
        """Whether the times of class k have a variance."""
        try:
            classes.service[0].moment(3)
            if self.repeat == "identical":
                for j in range(1, k + 1):
                    _exponential_moment(classes.service[j], 3 * sum(classes.rate_rps[:j]))
        except ServingError:
            return False
        return True

    def _completion(self, law: Law, above: _Interruption, k: int) -> tuple[float, float]:
        """Two moments of the time from the first start of a service to its end."""
        if not above.rate_rps:
            return law.mean, law.moment(2)
        if self.repeat == "different":
            return _different(law, above)
        return _identical(law, above, k)


def _different(law: Law, above: _Interruption) -> tuple[float, float]:
    r"""A geometric number of failed attempts, each followed by an interruption, then one that is not.

    Attempts fail with :math:`1-q`, :math:`q=S^*(\Lambda)`; E and E2 are moments of the length of a failed
    one.
    """
    lam = above.rate_rps
    q, slope, bend = _derivatives(law, lam)
    fail = 1 - q
    failed = 1 / lam - slope / fail  # E[min(S, X); X < S] / P(X < S)
    failed_second = (2 / lam**2 * fail - 2 * slope / lam - bend) / fail
    round_mean = failed + above.mean_s
    round_var = failed_second - failed**2 + above.second_s2 - above.mean_s**2
    n_mean, n_var = fail / q, fail / q**2
    last_mean, last_var = slope / q, bend / q - (slope / q) ** 2
    mean = n_mean * round_mean + last_mean
    var = n_mean * round_var + n_var * round_mean**2 + last_var
    return mean, var + mean**2


def _derivatives(law: Law, lam: float) -> tuple[float, float, float]:
    """E[exp(-lam S)], E[S exp(-lam S)] and E[S^2 exp(-lam S)]."""
    atoms = all_atoms_of(law)
    if atoms is not None:
        kept = atoms[1] * np.exp(-lam * atoms[0])
        return float(kept.sum()), float(kept @ atoms[0]), float(kept @ atoms[0] ** 2)
    # by parts, with P(S > x): E[g(S)] = g(0) + integral of g'(x) P(S > x)
    x, weight = tail_quadrature(law)
    with np.errstate(under="ignore"):
        kept = weight * np.exp(-lam * x)
    first = float(kept @ (1 - lam * x))
    second = float(kept @ (2 * x - lam * x**2))
    return float(law.lst(lam)), first, second


def _identical(law: Law, above: _Interruption, k: int) -> tuple[float, float]:
    r"""Given S = x the failed attempts are geometric with :math:`q=e^{-\Lambda x}`; then averaged over x."""
    lam, mean_b, second_b = above.rate_rps, above.mean_s, above.second_s2
    try:
        grown, grown2 = _exponential_moment(law, lam), _exponential_moment(law, 2 * lam)
        slope = _exponential_moment(law, lam, times_size=True)
    except ServingError as error:
        raise ConfigError(
            f"service: class {k} repeats the same work, interrupted at {lam:g}/s; E[exp({2 * lam:g} S)] "
            "is infinite or not known for its law; shorten its tail or use repeat='different'"
        ) from error
    cycle = 1 / lam + mean_b
    mean = cycle * (grown - 1)
    # given x, with g = exp(lam x): mean cycle (g - 1), second moment as for a geometric sum
    second = (
        2 * cycle**2 * (grown2 - 2 * grown + 1)
        + (second_b + 2 * mean_b / lam + 2 / lam**2) * (grown - 1)
        - 2 * cycle * slope
    )
    return mean, second


def _exponential_moment(law: Law, rate: float, *, times_size: bool = False) -> float:
    """E[exp(rate S)], or E[S exp(rate S)]."""
    atoms = all_atoms_of(law)
    if atoms is not None:
        grown = atoms[1] * np.exp(rate * atoms[0])
        return float(grown @ atoms[0]) if times_size else float(grown.sum())
    step = 1e-3 * rate if times_size else 0.0
    values = [float(law.lst(-(rate + j * step))) for j in ((-2, -1, 1, 2) if times_size else (0,))]
    if not all(math.isfinite(v) and v >= 1 + 0.5 * rate * law.mean for v in values):
        raise ConfigError(f"rate: {rate:g} lies beyond the exponential moments of {law}")
    if not times_size:
        return values[0]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


def _with_class(above: _Interruption, rate: float, mean: float, second: float, load: float) -> _Interruption:
    """Busy periods of one more class: started by it or, going on after one, by the classes above."""
    left = 1 - load
    own_mean, own_second = mean / left, second / left**3
    total = above.rate_rps + rate
    delay_mean = above.mean_s / left
    delay_second = above.second_s2 / left**2 + rate * above.mean_s * second / left**3
    share = rate / total
    return _Interruption(
        rate_rps=total,
        mean_s=share * own_mean + (1 - share) * delay_mean,
        second_s2=share * own_second + (1 - share) * delay_second,
    )
