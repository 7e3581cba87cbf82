"""M/M/1 with processor sharing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.quadrature import graded_panels
from qtheory.numerics.timelaw import ExponentialSum, TransformLaw
from qtheory.queues.result import QueueResult
from qtheory.queues.single._common import require_stable

__all__ = ["MM1PS", "MM1PSResult"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class MM1PSResult(QueueResult):
    """Steady state of M/M/1 with processor sharing.

    Parameters
    ----------
    var_response_s2 : float
        Variance of the response, seconds squared.
    var_number : float
        Variance of the number present.
    mean_slowdown : float
        Mean of response / size.

    Examples
    --------
    >>> round(MM1PS(rate_rps=0.5, service_rate_rps=1.0).solve().mean_slowdown, 9)
    2.0
    """

    var_response_s2: float
    var_number: float
    mean_slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MM1PS:
    r"""Exact M/M/1 with egalitarian processor sharing: all present are served at once, at equal speed.

    The response is a continuous mixture of exponentials, :math:`P(T>t)=2(1-\rho)\int_0^\pi
    \frac{e^{\varphi\cot\theta}}{1+e^{\pi\cot\theta}}\frac{\sin\theta}{g^2}e^{-\mu gt}d\theta` with
    :math:`g=1+\rho-2\sqrt\rho\cos\theta` and
    :math:`\varphi=\theta+2\arctan\frac{\sqrt\rho\sin\theta}{1-\sqrt\rho\cos\theta}` [1]_, [2]_. Given the
    size x the mean is :math:`x/(1-\rho)` and the transform that of [3]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda`, requests per second, > 0.
    service_rate_rps : float
        Service rate :math:`\mu` of a customer alone, requests per second, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Flatto (1997), "The waiting time distribution for the random order service M/M/1 queue", Annals of
       Applied Probability 7, 382-409.
    .. [2] Borst, Boxma, Morrison, Nunez Queija (2003), "The equivalence between processor sharing and service
       in random order", Operations Research Letters 31, 254-262.
    .. [3] Coffman, Muntz, Trotter (1970), "Waiting time distributions for processor-sharing systems", J. ACM
       17, 123-130.

    Examples
    --------
    >>> queue = MM1PS(rate_rps=0.7, service_rate_rps=1.0)
    >>> answer = queue.solve()
    >>> print(f"mean {answer.mean_response_s:.4f} s, p99 {answer.response.ppf(0.99):.4f} s")
    mean 3.3333 s, p99 23.2487 s
    >>> round(queue.mean_response_given_size_s(3.0), 9)
    10.0
    """

    rate_rps: float
    service_rate_rps: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, service_rate_rps=self.service_rate_rps)

    def solve(self) -> MM1PSResult:
        """The steady state."""
        lam, mu = self.rate_rps, self.service_rate_rps
        require_stable(lam, 1 / mu, way_out="lower the rate or raise service_rate_rps")
        rho, mean = lam / mu, 1 / (mu - lam)
        response = self._response()
        if abs(response.mean_s - mean) > 1e-9 * mean:
            raise ConvergenceError(f"the mixture has the mean {response.mean_s:.12g} s, not {mean:.12g} s")
        return MM1PSResult(
            exactness="exact",
            route="mixture of exponentials, integrated by Gauss-Legendre",
            utilization_frac=rho,
            mean_response_s=mean,
            mean_number=lam * mean,
            prob_empty=(mu - lam) / mu,
            response=response,
            number_pmf=lambda n: (1 - rho) * rho**n if n >= 0 else 0.0,
            var_response_s2=mean**2 * (2 + rho) / (2 - rho),
            var_number=lam * mu * mean**2,
            mean_slowdown=1 / (1 - rho),
        )

    def mean_response_given_size_s(self, size_s: float) -> float:
        """Mean response of a customer of this size, seconds."""
        checks.positive(size_s=size_s)
        return size_s / (1 - self.rate_rps / self.service_rate_rps)

    def var_response_given_size_s2(self, size_s: float) -> float:
        """Variance of the response of a customer of this size, seconds squared."""
        checks.positive(size_s=size_s)
        rho, slack = self.rate_rps / self.service_rate_rps, self.service_rate_rps - self.rate_rps
        y = slack * size_s
        # y - (1 - exp(-y)), without cancellation at small y
        grown = y + np.expm1(-y) if y > 1e-3 else y**2 / 2 - y**3 / 6 + y**4 / 24
        return float(2 * rho / (1 - rho) ** 2 * grown / slack**2)

    def response_given_size(self, size_s: float) -> TransformLaw:
        """Law of the response of a customer of this size."""
        lam, mu, x = self.rate_rps, self.service_rate_rps, size_s
        rho = lam / mu
        alone = float((1 - rho) * np.exp(-lam * x))  # nobody there and nobody comes: x seconds

        def lst(s: Complexes) -> Complexes:
            b = lam + mu + s
            r = 2 * mu / (b + np.sqrt(b**2 - 4 * lam * mu))
            top = (1 - rho) * (1 - rho * r**2) * np.exp(-(lam * (1 - r) + s) * x)
            return np.asarray(
                top / ((1 - rho * r) ** 2 - rho * (1 - r) ** 2 * np.exp(-(mu / r - lam * r) * x))
            )

        return TransformLaw(
            tail_lst=lambda s: (1 - lst(s)) / s - alone * (1 - np.exp(-s * x)) / s,
            mean_s=self.mean_response_given_size_s(x),
            variance_s2=self.var_response_given_size_s2(x),
            known_tail=lambda t: np.where(t < x, alone, 0.0),
            worst=1e-4,
        )

    def _response(self) -> ExponentialSum:
        rho = self.rate_rps / self.service_rate_rps
        root = np.sqrt(rho)
        theta, weight = graded_panels(np.pi)
        g = (1 - root) ** 2 + 4 * root * np.sin(theta / 2) ** 2
        phi = 2 * np.arctan2(root * np.sin(theta), (1 - root) + 2 * root * np.sin(theta / 2) ** 2) + theta
        with np.errstate(over="ignore", under="ignore"):
            cot = 1 / np.tan(theta)
            up = np.exp(
                np.minimum(phi * cot, phi * cot - np.pi * cot)
            )  # of both forms the one that stays small
            share = up / (1 + np.exp(-np.pi * np.abs(cot)))
            mass = 2 * (1 - rho) * weight * share * np.sin(theta) / g**2
        kept = mass > 0
        rates = self.service_rate_rps * g[kept]
        return ExponentialSum(weights=tuple((mass[kept]).tolist()), rates_per_s=tuple(rates.tolist()))
