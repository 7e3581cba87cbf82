"""Processor sharing with weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.exponential import Exponential
from qtheory.numerics.clock import ClockedLaw
from qtheory.numerics.taillaw import TailLaw
from qtheory.queues.single._common import check_little

from ._classes import Classes, PriorityResult
from ._weighted_chain import WeightedChain

__all__ = ["DiscriminatoryPS"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscriminatoryPS:
    r"""Exact M/M/1 with discriminatory processor sharing: customers share by their weights.

    The means solve :math:`T_k\left(1-\sum_j\frac{\lambda_jg_j}{\mu_jg_j+\mu_kg_k}\right)
    -\sum_j\frac{\lambda_jg_jT_j}{\mu_jg_j+\mu_kg_k}=\frac1{\mu_k}` [1]_. The laws come
    from the chain of the numbers of each class, where its states can be listed.

    Parameters
    ----------
    rate_rps, service_rate_rps : sequence of float
        Arrival rates :math:`\lambda_k` and service rates alone :math:`\mu_k`, requests per second, > 0, one a
        class.
    weight : sequence of float
        Weights :math:`g_k`, > 0: a customer gets his weight over the sum of all present.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the lengths differ.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Fayolle, Mitrani, Iasnogorodski (1980), "Sharing a processor among many job classes", J. ACM 27,
       519-532.

    Examples
    --------
    >>> queue = DiscriminatoryPS(rate_rps=[0.3, 0.4], service_rate_rps=[1.0, 1.0], weight=[2.0, 1.0])
    >>> [round(response_s, 4) for response_s in queue.solve().mean_response_s_by_class]
    [2.6667, 3.8333]
    """

    rate_rps: Sequence[float]
    service_rate_rps: Sequence[float]
    weight: Sequence[float]

    def __post_init__(self) -> None:
        if not len(self.rate_rps) == len(self.service_rate_rps) == len(self.weight):
            raise ConfigError(
                f"rate_rps, service_rate_rps, weight: {len(self.rate_rps)}, {len(self.service_rate_rps)} and "
                f"{len(self.weight)} values; give one of each a class"
            )
        for mu, g in zip(self.service_rate_rps, self.weight, strict=True):
            checks.positive(service_rate_rps=mu, weight=g)
        self._classes()

    def _classes(self) -> Classes:
        return Classes.checked(self.rate_rps, [Exponential(mean=1 / mu) for mu in self.service_rate_rps])

    def solve(self) -> PriorityResult:
        """Means, class by class."""
        classes = self._classes()
        classes.require_stable()
        lam, mu = np.asarray(self.rate_rps, dtype=float), np.asarray(self.service_rate_rps, dtype=float)
        g = np.asarray(self.weight, dtype=float)
        share = lam * g / (mu * g + (mu * g)[:, None])  # (k, j)
        response = np.linalg.solve(np.diag(1 - share.sum(axis=1)) - share, 1 / mu)
        rho, total = classes.load, float(lam.sum())
        # the mean work, which no work-conserving rule changes
        check_little(1.0, float((lam / mu**2).sum() / (1 - rho)), float(lam * response @ (1 / mu)))
        mean = float(lam @ response) / total
        chain = WeightedChain(rate_rps=lam, service_rate_rps=mu, weight=g, mean_number=float(lam @ response))
        return PriorityResult(
            exactness="exact",
            route="linear equations of Fayolle, Mitrani and Iasnogorodski; laws by the chain of the numbers",
            utilization_frac=rho,
            mean_response_s=mean,
            mean_number=total * mean,
            prob_empty=1 - rho,
            mean_wait_s_by_class=tuple(0.0 for _ in lam),
            mean_response_s_by_class=tuple(response.tolist()),
            number_pmf=lambda n: _at(chain.number_pmf(None), n),
            response_by_class=tuple(_response(chain, k, t) for k, t in enumerate(response.tolist())),
            mean_number_by_class=tuple((lam * response).tolist()),
            number_pmf_by_class=tuple(_numbers(chain, k) for k in range(len(lam))),
        )


def _at(pmf: Floats, n: int) -> float:
    return float(pmf[n]) if 0 <= n < len(pmf) else 0.0


def _numbers(chain: WeightedChain, k: int) -> Callable[[int], float]:
    return lambda n: _at(chain.number_pmf(k), n)


def _response(chain: WeightedChain, k: int, mean_s: float) -> TailLaw:
    """Law of the response of a class, followed through the chain when it is asked for."""

    @cache
    def found() -> ClockedLaw:
        law = chain.response(k)
        check_little(1.0, mean_s, law.mean_s)
        return law

    return TailLaw(
        tail=lambda t: found().sf(t), mean_s=mean_s, variance_s2=lambda: found().var_s2, scale_s=mean_s
    )
