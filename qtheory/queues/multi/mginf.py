"""M/G/inf: a server for everybody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Law
from qtheory.numerics.clock import NO_TIME
from qtheory.numerics.markov import poisson_pmf
from qtheory.queues.result import QueueResult

__all__ = ["LawTime", "MGInf", "MGInfResult"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LawTime:
    """A law of seconds, read as the law of a time.

    Parameters
    ----------
    law : Law
        The law, seconds.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> time = LawTime(law=Exponential(mean=2.0))
    >>> time.mean_s, time.var_s2, float(time.ppf(0.5).round(4))
    (2.0, 4.0, 1.3863)
    """

    law: Law

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return self.law.mean

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.law.var

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        return np.asarray(self.law.sf(np.asarray(t, dtype=float)), dtype=float)

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        return np.asarray(self.law.ppf(np.asarray(q, dtype=float)), dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class MGInfResult(QueueResult):
    """Steady state of M/G/inf.

    Parameters
    ----------
    var_number : float
        Variance of the number present, equal to its mean.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> from qtheory.queues.multi import MGInf
    >>> MGInf(rate_rps=3.0, service=Constant(value=0.5)).solve().var_number
    1.5
    """

    var_number: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MGInf:
    r"""Exact M/G/inf (M/M/inf among them): nobody waits, the number present is Poisson [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate (Poisson), requests per second, > 0.
    service : Law
        Service time, seconds; only its mean matters for the number present.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Takacs (1962), "Introduction to the Theory of Queues", Oxford, chapter 3.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = MGInf(rate_rps=3.0, service=Exponential(mean=2.0)).solve()
    >>> answer.mean_number, round(answer.prob_empty, 6)
    (6.0, 0.002479)
    """

    rate_rps: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        if not isinstance(self.service, Law) or not self.service.mean > 0:
            raise ConfigError(f"service: {self.service!r} is not a law with a mean above 0")

    def solve(self) -> MGInfResult:
        """The steady state."""
        load = self.rate_rps * self.service.mean
        return MGInfResult(
            exactness="exact",
            route="Poisson number present",
            utilization_frac=0.0,
            mean_wait_s=0.0,
            mean_response_s=self.service.mean,
            mean_number=load,
            mean_queue=0.0,
            prob_wait=0.0,
            prob_empty=float(poisson_pmf(0, load)),
            wait=NO_TIME,
            response=LawTime(law=self.service),
            number_pmf=lambda n: float(poisson_pmf(n, load)),
            var_number=load,
        )
