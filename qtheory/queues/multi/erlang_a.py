"""M/M/c+M (Erlang A): those who wait lose patience after an exponential time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Exponential
from qtheory.numerics.markov import birth_death
from qtheory.numerics.taillaw import TailLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._common import check_little
from ._offered import second_of_response

__all__ = ["AbandonmentResult", "ErlangA"]

Floats = NDArray[np.float64]

_NOTHING = 1e-18
_MOST_STATES = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonmentResult(QueueResult):
    """Steady state with impatient customers. The wait of all ends with service or with leaving.

    Parameters
    ----------
    prob_abandon : float
        Share of the arrivals that leave before their service starts.
    throughput_rps : float
        Served per second.
    mean_wait_served_s : float
        Mean wait of those who are served.
    wait_served : TimeLaw
        Its law.

    Examples
    --------
    >>> from qtheory.queues.multi import ErlangA
    >>> answer = ErlangA(rate_rps=12.0, service_rate_rps=1.0, n_servers=10, mean_patience_s=2.0).solve()
    >>> print(f"{answer.throughput_rps:.4f} {answer.wait_served.ppf(0.9):.4f}")
    9.6521 0.9093
    """

    prob_abandon: float
    throughput_rps: float
    mean_wait_served_s: float
    wait_served: TimeLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class ErlangA:
    r"""Exact M/M/c+M, first come first served, stable at any rate.

    Who finds :math:`c+k` present would wait for exponential times of rates :math:`c\mu+j\theta`,
    :math:`j=0..k`; so :math:`e^{-\theta V}` is a beta variable with the parameters :math:`c\mu/\theta` and
    :math:`k+1`, which gives all tails [1]_, [2]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service_rate_rps : float
        Completions per second :math:`\mu` of a busy server, > 0.
    n_servers : int
        c, >= 1.
    mean_patience_s : float
        Mean time :math:`1/\theta` that a customer is ready to wait, seconds, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    ConvergenceError
        From `solve` if the queue is too long for a list of its states.

    References
    ----------
    .. [1] Palm (1957), "Research on telephone traffic carried by full availability groups", Tele 1.
    .. [2] Garnett, Mandelbaum, Reiman (2002), "Designing a call center with impatient customers", M&SOM 4,
       208-227.

    Examples
    --------
    >>> answer = ErlangA(rate_rps=12.0, service_rate_rps=1.0, n_servers=10, mean_patience_s=2.0).solve()
    >>> print(f"{answer.prob_abandon:.4f} leave, the others wait {answer.mean_wait_served_s:.4f} s")
    0.1957 leave, the others wait 0.4008 s
    """

    rate_rps: float
    service_rate_rps: float
    n_servers: int
    mean_patience_s: float

    def __post_init__(self) -> None:
        checks.positive(
            rate_rps=self.rate_rps,
            service_rate_rps=self.service_rate_rps,
            mean_patience_s=self.mean_patience_s,
        )
        checks.integer(n_servers=self.n_servers)

    def _states(self) -> tuple[Floats, Floats]:
        """P(n present) and the rate at which they get fewer, n = 0, 1, ..."""
        lam, theta, c = self.rate_rps, 1.0 / self.mean_patience_s, self.n_servers
        full = c * self.service_rate_rps
        usual = max((lam - full) / theta, 0.0) + 12.0 * math.sqrt(lam / theta) + 50.0
        decay = 45.0 / math.log(full / lam) if full > lam else math.inf
        n = c + int(min(usual, decay + 50.0))
        while n <= _MOST_STATES:
            k = np.arange(1, n + 1)
            down = np.minimum(k, c) * self.service_rate_rps + np.maximum(k - c, 0) * theta
            pmf, _ = birth_death(np.full(n, lam), down)
            after = lam / (float(down[-1]) + theta)
            if after < 1 and pmf[-1] * after / (1.0 - after) < _NOTHING:
                return pmf, np.append(0.0, down)
            n = c + 2 * (n - c)
        raise ConvergenceError(f"mean_patience_s={self.mean_patience_s:g}: more than {_MOST_STATES} states")

    def solve(self) -> AbandonmentResult:
        """The steady state."""
        lam, mu, c = self.rate_rps, self.service_rate_rps, self.n_servers
        pmf, down = self._states()
        n = np.arange(len(pmf))
        check_little(lam, 1.0, float(pmf @ down))
        busy, queue = float(pmf @ np.minimum(n, c)), float(pmf @ np.maximum(n - c, 0))
        served = mu * busy
        found = pmf[c:]  # k = 0, 1, ... waiting already
        wait, wait_served = self._laws(found, served / lam)
        return AbandonmentResult(
            exactness="exact",
            route="birth-death chain; beta tails",
            utilization_frac=busy / c,
            mean_wait_s=queue / lam,
            mean_response_s=(queue + busy) / lam,
            mean_number=queue + busy,
            mean_queue=queue,
            prob_wait=float(found.sum()),
            prob_empty=float(pmf[0]),
            wait=wait,
            response=self._response(wait, wait_served, served / lam),
            number_pmf=lambda k: float(pmf[k]) if 0 <= k < len(pmf) else 0.0,
            prob_abandon=queue / self.mean_patience_s / lam,
            throughput_rps=served,
            mean_wait_served_s=wait_served.mean_s,
            wait_served=wait_served,
        )

    def _response(self, wait: TailLaw, late: TailLaw, served_frac: float) -> TailLaw:
        """Law of the time from arrival to leaving, served or not, by the density of the offered wait."""
        mean_s = wait.mean_s + served_frac / self.service_rate_rps
        square = second_of_response(
            wait.var_s2 + wait.mean_s**2, served_frac, late.mean_s, self.service_rate_rps
        )

        @cache
        def general() -> TimeLaw:
            from .mmc_g import MMcG  # it takes the result from this module

            patience = Exponential(mean=self.mean_patience_s)
            found = MMcG(
                rate_rps=self.rate_rps,
                service_rate_rps=self.service_rate_rps,
                n_servers=self.n_servers,
                patience=patience,
            ).solve()
            check_little(1.0, mean_s, found.mean_response_s or 0.0, rtol=1e-7)
            return cast(TimeLaw, found.response)

        return TailLaw(
            tail=lambda t: general().sf(t), mean_s=mean_s, variance_s2=square - mean_s**2, scale_s=mean_s
        )

    def _laws(self, found: Floats, served_frac: float) -> tuple[TailLaw, TailLaw]:
        """The wait of all, and of those who are served."""
        theta = 1.0 / self.mean_patience_s
        ready = self.n_servers * self.service_rate_rps / theta
        heavy = found > 1e-300
        pmf = found[heavy]
        k = np.arange(len(found))[heavy] + 1.0
        stays = ready / (ready + k)  # P(served | k - 1 waiting)

        def tail(t: Floats) -> Floats:
            x = np.exp(-theta * t)
            return np.array([y * float(pmf @ betainc(ready, k, y)) for y in x])

        def tail_served(t: Floats) -> Floats:
            share = pmf * stays / served_frac
            return np.array([float(share @ betainc(ready + 1.0, k, y)) for y in np.exp(-theta * t)])

        spread = 1.0 / (theta * (ready + np.arange(1.0, len(found) + 1)))
        first, square = np.cumsum(spread)[heavy], np.cumsum(spread**2)[heavy]
        share = pmf * stays / served_frac
        mean_served = float(share @ first)
        second_served = float(share @ (first**2 + square))
        mean = float(pmf @ (1.0 - stays)) / theta
        second = 2.0 / theta**2 * float(pmf @ (1.0 - stays * (1.0 + theta * first)))
        scale = max(mean_served / max(float(pmf.sum()), 1e-300), 1e-3 / (theta * ready))
        return (
            TailLaw(tail=tail, mean_s=mean, variance_s2=second - mean**2, scale_s=scale),
            TailLaw(
                tail=tail_served,
                mean_s=mean_served,
                variance_s2=second_served - mean_served**2,
                scale_s=scale,
            ),
        )
