"""M/H_k/1: hyperexponential service, with the wait as a mixture of k exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.laws.hyperexponential import Hyperexponential
from qtheory.numerics.roots import bracketed_root
from qtheory.numerics.timelaw import ExponentialSum

from .mg1 import MG1, MG1Result

__all__ = ["MHk1"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MHk1:
    r"""Exact M/H_k/1, first come first served: tails are mixtures of k exponentials.

    The rates are the roots r of :math:`\lambda\sum_ip_i/(\mu_i-r)=1`, one below the smallest :math:`\mu_i`
    and one between each two; the weight of r in the wait is
    :math:`(1-\rho)/(r\lambda\sum_ip_i/(\mu_i-r)^2)` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    probs : sequence of float
        Probabilities :math:`p_i`, sum 1.
    service_rates_rps : sequence of float
        Rates :math:`\mu_i`, requests per second, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Kleinrock (1975), "Queueing Systems" I, Wiley, section 5.7.

    Examples
    --------
    >>> answer = MHk1(rate_rps=0.9, probs=[0.5, 0.5], service_rates_rps=[0.75, 1.5]).solve()
    >>> print(f"{answer.mean_wait_s:.4f} {answer.wait.ppf(0.99):.4f}")
    10.0000 50.3251
    """

    rate_rps: float
    probs: Sequence[float]
    service_rates_rps: Sequence[float]

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        for rate in self.service_rates_rps:
            checks.positive(service_rates_rps=rate)
        self._service()

    def _service(self) -> Hyperexponential:
        return Hyperexponential(probs=self.probs, means=[1 / mu for mu in self.service_rates_rps])

    def solve(self) -> MG1Result:
        """The steady state."""
        lam = self.rate_rps
        whole = MG1(rate_rps=lam, service=self._service()).solve()
        together: dict[float, float] = {}
        for mu, p in zip(self.service_rates_rps, self.probs, strict=True):
            if p > 0:
                together[mu] = together.get(mu, 0.0) + p
        phase = np.array(sorted(together))
        chance = np.array([together[mu] for mu in sorted(together)])
        rates = self._rates(phase, chance, whole.utilization_frac)
        gap = phase - rates[:, None]  # (k, k)
        slope = lam * (chance / gap**2).sum(axis=1)
        weight = (1 - whole.utilization_frac) / (rates * slope)
        service = (chance * phase / gap).sum(axis=1)  # the service transform at -rate
        return replace(
            whole,
            route="mixture of k exponentials",
            wait=ExponentialSum(weights=tuple(weight.tolist()), rates_per_s=tuple(rates.tolist())),
            response=ExponentialSum(
                weights=tuple((weight * service).tolist()), rates_per_s=tuple(rates.tolist())
            ),
        )

    def _rates(self, mu: Floats, p: Floats, rho: float) -> Floats:
        """Roots of the function 1 - lam sum p / (mu - r), which has a pole at every mu."""
        lam = self.rate_rps
        start = np.concatenate([[0.0], mu[:-1]])

        def gap(share: Floats, which: NDArray[np.intp]) -> Floats:
            r = start[which] + share * (mu[which] - start[which])
            # the pole at the upper end is multiplied away: monotone with values of both signs
            own = p[which] / (1 - share) / (mu[which] - start[which])
            others = np.where(np.arange(mu.size) == which[:, None], 0.0, p / (mu - r[:, None])).sum(axis=1)
            value: Floats = (1 - lam * (own + others)) * (1 - share) * share
            return value

        tiny = 1e-15
        low = np.full(mu.size, tiny)
        low[0] = min(0.5 * (1 - rho), 0.5) * 1e-3
        share = bracketed_root(gap, low, np.full(mu.size, 1 - tiny), rtol=1e-15)
        return np.asarray(start + share * (mu - start))
