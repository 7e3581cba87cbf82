"""M/M/c with priority classes, nobody interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.priority import PriorityResult

from ._common import require_stable
from .erlang import erlang_c
from .mmc import MMc

__all__ = ["MMcPriority"]

Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class MMcPriority:
    r"""Exact M/M/c with nonpreemptive classes of one service rate, first come first served inside a class.

    While all are busy, those of class k and above who wait are geometric with the ratio
    :math:`\sigma_k=\sum_{j\le k}\lambda_j/(c\mu)`. A customer of class k waits for them and one completion
    more, each stretched by the busy period of the classes above:
    :math:`(1-\sigma_k)\theta/(1-\sigma_k\theta)` with its transform :math:`\theta` [1]_; the mean is
    :math:`\frac{C}{c\mu(1-\sigma_{k-1})(1-\sigma_k)}`.

    Parameters
    ----------
    rate_rps : sequence of float
        Arrival rate of each class (Poisson), requests per second, > 0; the most urgent first.
    service_rate_rps : float
        Completions per second :math:`\mu` of a busy server, > 0.
    n_servers : int
        c, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the total rate is not below ``n_servers * service_rate_rps``.

    References
    ----------
    .. [1] Kella, Yechiali (1985), "Waiting times in the non-preemptive priority M/M/c queue", Stochastic
       Models 1, 257-262.

    Examples
    --------
    >>> answer = MMcPriority(rate_rps=[1.0, 1.5], service_rate_rps=1.0, n_servers=3).solve()
    >>> print(", ".join(f"{w:.4f}" for w in answer.mean_wait_s_by_class))
    0.3511, 2.1067
    """

    rate_rps: Sequence[float]
    service_rate_rps: float
    n_servers: int

    def __post_init__(self) -> None:
        if not len(self.rate_rps):
            raise ConfigError("rate_rps: empty; give the rate of each class, the most urgent first")
        for rate in self.rate_rps:
            checks.positive(rate_rps=rate)
        checks.positive(service_rate_rps=self.service_rate_rps)
        checks.integer(n_servers=self.n_servers)
        object.__setattr__(self, "rate_rps", tuple(float(rate) for rate in self.rate_rps))

    def solve(self) -> PriorityResult:
        """The steady state."""
        mu, c = self.service_rate_rps, self.n_servers
        total = float(sum(self.rate_rps))
        require_stable(total, 1.0 / mu, c)
        prob_wait = erlang_c(n_servers=c, load=total / mu)
        waits = [self._wait(k, prob_wait, response=False) for k in range(len(self.rate_rps))]
        responses = [self._wait(k, prob_wait, response=True) for k in range(len(self.rate_rps))]
        mean_wait_s = prob_wait / (c * mu - total)
        together = MMc(rate_rps=total, service_rate_rps=mu, n_servers=c).solve()  # the order does not count
        return PriorityResult(
            exactness="exact",
            route="Erlang C and busy periods of the classes above",
            utilization_frac=total / (c * mu),
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + 1.0 / mu,
            mean_number=total * (mean_wait_s + 1.0 / mu),
            mean_queue=total * mean_wait_s,
            prob_wait=prob_wait,
            prob_empty=together.prob_empty,
            number_pmf=together.number_pmf,
            mean_wait_s_by_class=tuple(wait.mean_s for wait in waits),
            mean_response_s_by_class=tuple(response.mean_s for response in responses),
            wait_by_class=tuple(waits),
            response_by_class=tuple(responses),
        )

    def _wait(self, k: int, prob_wait: float, *, response: bool) -> TransformLaw:
        """Law of the wait or the response of class k (from 0)."""
        mu, full = self.service_rate_rps, self.n_servers * self.service_rate_rps
        above = float(sum(self.rate_rps[:k]))
        ratio = (above + self.rate_rps[k]) / full
        one, square = (
            1.0 / (full - above),
            2.0 * full / (full - above) ** 3,
        )  # moments of a stretched completion
        mean = one / (1.0 - ratio)
        second = (square - one**2) / (1.0 - ratio) + one**2 * (1.0 + ratio) / (1.0 - ratio) ** 2
        wait_mean, wait_var = prob_wait * mean, prob_wait * second - (prob_wait * mean) ** 2
        wait_tail = _wait_tail(above, full, ratio, prob_wait)
        if not response:
            return TransformLaw(
                tail_lst=wait_tail, mean_s=wait_mean, variance_s2=wait_var, prob_positive=prob_wait
            )
        return TransformLaw(
            tail_lst=lambda s: 1.0 / (s + mu) + wait_tail(s) * mu / (s + mu),
            mean_s=wait_mean + 1.0 / mu,
            variance_s2=wait_var + 1.0 / mu**2,
        )


def _wait_tail(above: float, full: float, ratio: float, prob_wait: float) -> Callable[[Complexes], Complexes]:
    """(1 - E[exp(-s W)]) / s; the busy period above has s + above (1 - B*) = full (1/B* - 1)."""

    def transform(s: Complexes) -> Complexes:
        total = s + above + full
        root = np.sqrt(total - 2.0 * np.sqrt(above * full)) * np.sqrt(total + 2.0 * np.sqrt(above * full))
        busy = 2.0 * full / (total + root)
        late = busy / (full - above * busy)  # (1 - B*) / s
        return np.asarray(prob_wait * late / (1.0 - ratio * busy), dtype=np.complex128)

    return transform
