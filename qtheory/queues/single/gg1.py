"""GI/G/1 from two moments: the usual approximations and bounds of the mean wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from qtheory.basics import checks
from qtheory.queues.result import QueueResult

from ._common import require_stable

__all__ = ["GG1", "Formula"]

Formula = Literal["kingman", "klb", "marchal", "allen_cunneen", "kingman_bound", "daley_bound", "lower_bound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GG1:
    r"""Approximation or bound of the mean wait in GI/G/1, from the first two moments.

    With :math:`\rho`, the squared coefficients of variation :math:`c_a^2,c_s^2` and :math:`S` the mean
    service:

    ``kingman`` (also ``allen_cunneen`` with one server)
        :math:`\frac\rho{1-\rho}\frac{c_a^2+c_s^2}2S` [1]_; exact for Poisson arrivals and in heavy traffic.
    ``klb``
        the same times :math:`\exp(-\frac{2(1-\rho)(1-c_a^2)^2}{3\rho(c_a^2+c_s^2)})` for :math:`c_a^2\le1`,
        else times :math:`\exp(-\frac{(1-\rho)(c_a^2-1)}{c_a^2+4c_s^2})` [2]_; the best of these below
        :math:`c_a^2=1`.
    ``marchal``
        :math:`\frac{\rho^2(1+c_s^2)}{1+\rho^2c_s^2}\frac{c_a^2+\rho^2c_s^2}{2\lambda(1-\rho)}` [3]_.
    ``kingman_bound``, ``daley_bound``
        upper bounds :math:`\frac{c_a^2+\rho^2c_s^2}{2\lambda(1-\rho)}` [1]_ and
        :math:`\frac{\rho(2-\rho)c_a^2+\rho^2c_s^2}{2\lambda(1-\rho)}` [4]_.
    ``lower_bound``
        :math:`\max(0,\frac{\rho^2c_s^2-\rho(2-\rho)}{2\lambda(1-\rho)})` [3]_.

    Parameters
    ----------
    rate_rps : float
        Arrival rate :math:`\lambda`, requests per second, > 0.
    scv_interval, scv_service : float
        Squared coefficients of variation (variance / mean^2) of intervals and services, >= 0.
    mean_service_s : float
        Mean service time, seconds, > 0.
    formula : str
        One of the names above; ``klb`` by default.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more.

    References
    ----------
    .. [1] Kingman (1962), "On queues in heavy traffic", J. Royal Statistical Society B 24, 383-392.
    .. [2] Kraemer, Langenbach-Belz (1976), "Approximate formulae for the delay in the queueing system
       GI/G/1", 8th International Teletraffic Congress.
    .. [3] Marchal (1978), "Some simpler bounds on the mean queuing time", Operations Research 26, 1083-1088.
    .. [4] Daley (1977), "Inequalities for moments of tails of random variables, with a queueing application",
       Z. Wahrscheinlichkeitstheorie 41, 139-143.

    Examples
    --------
    >>> queue = GG1(rate_rps=8.0, scv_interval=0.5, mean_service_s=0.1, scv_service=0.5)
    >>> print(f"{queue.solve().mean_wait_s:.4f} s")
    0.1918 s
    """

    rate_rps: float
    scv_interval: float
    mean_service_s: float
    scv_service: float
    formula: Formula = "klb"

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, mean_service_s=self.mean_service_s)
        checks.non_negative(scv_interval=self.scv_interval, scv_service=self.scv_service)
        checks.one_of("formula", self.formula, _FORMULAS)

    def mean_wait_s(self) -> float:
        """The mean wait by the formula, seconds."""
        require_stable(self.rate_rps, self.mean_service_s)
        return _FORMULAS[self.formula](self)

    def solve(self) -> QueueResult:
        """Means by the formula and Little's law."""
        lam, s = self.rate_rps, self.mean_service_s
        wait_s = self.mean_wait_s()
        is_bound = self.formula.endswith("bound")
        return QueueResult(
            exactness="bound" if is_bound else "approximation",
            route=f"{self.formula}, from two moments" + ("" if is_bound else "; exact for Poisson arrivals"),
            utilization_frac=lam * s,
            mean_wait_s=wait_s,
            mean_response_s=wait_s + s,
            mean_number=lam * (wait_s + s),
            mean_queue=lam * wait_s,
            prob_empty=1 - lam * s,
        )


def _kingman(q: GG1) -> float:
    rho = q.rate_rps * q.mean_service_s
    return rho / (1 - rho) * (q.scv_interval + q.scv_service) / 2 * q.mean_service_s


def _klb(q: GG1) -> float:
    rho, ca2, cs2 = q.rate_rps * q.mean_service_s, q.scv_interval, q.scv_service
    if ca2 + cs2 == 0:
        return 0.0  # nothing varies: nobody waits
    if ca2 <= 1:
        return _kingman(q) * math.exp(-2 * (1 - rho) * (1 - ca2) ** 2 / (3 * rho * (ca2 + cs2)))
    return _kingman(q) * math.exp(-(1 - rho) * (ca2 - 1) / (ca2 + 4 * cs2))


def _marchal(q: GG1) -> float:
    rho2, cs2 = (q.rate_rps * q.mean_service_s) ** 2, q.scv_service
    return rho2 * (1 + cs2) / (1 + rho2 * cs2) * _kingman_bound(q)


def _kingman_bound(q: GG1) -> float:
    rho = q.rate_rps * q.mean_service_s
    return (q.scv_interval + rho**2 * q.scv_service) / (2 * q.rate_rps * (1 - rho))


def _daley_bound(q: GG1) -> float:
    rho = q.rate_rps * q.mean_service_s
    return (rho * (2 - rho) * q.scv_interval + rho**2 * q.scv_service) / (2 * q.rate_rps * (1 - rho))


def _lower_bound(q: GG1) -> float:
    rho = q.rate_rps * q.mean_service_s
    return max(0.0, (rho**2 * q.scv_service - rho * (2 - rho)) / (2 * q.rate_rps * (1 - rho)))


_FORMULAS: dict[str, Callable[[GG1], float]] = {
    "kingman": _kingman,
    "allen_cunneen": _kingman,
    "klb": _klb,
    "marchal": _marchal,
    "kingman_bound": _kingman_bound,
    "daley_bound": _daley_bound,
    "lower_bound": _lower_bound,
}
