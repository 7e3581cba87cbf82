"""G/G/c: approximations of the mean wait from two moments of intervals and services."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.queues.result import QueueResult

from ._common import require_stable
from .erlang import erlang_c

__all__ = ["GGc"]

Formula = Literal["allen_cunneen", "whitt", "kimura", "lee_longton", "cosmetatos", "sakasegawa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GGc:
    r"""Approximation of the mean wait in G/G/c from two moments; the formulas scale that of M/M/c.

    * ``allen_cunneen`` [1]_: :math:`\frac{c_a^2+c_s^2}2W_{M/M/c}`; ``lee_longton`` [2]_ is the same for
      Poisson arrivals, ``sakasegawa`` [3]_ has :math:`\rho^{\sqrt{2(c+1)}-1}` for Erlang's C.
    * ``cosmetatos`` [4]_ (Poisson arrivals): between M/M/c and M/D/c, for which
      :math:`\frac12W_{M/M/c}(1+(1-\rho)(c-1)(\sqrt{4+5c}-2)/(16\rho c))`.
    * ``kimura`` [5]_ (both :math:`c^2\le1`): harmonic mean of M/M/c, M/D/c and D/M/c, the latter two by
      ``cosmetatos`` and its counterpart.
    * ``whitt`` [6]_: the same three, with a correction for any :math:`c^2`.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate, requests per second, > 0.
    scv_interval, scv_service : float
        Squared coefficients of variation :math:`c_a^2, c_s^2`, >= 0.
    mean_service_s : float
        Mean service time, seconds, > 0.
    n_servers : int
        c, >= 1.
    formula : str
        One of the names above.

    Raises
    ------
    ConfigError
        If a parameter is out of range, or outside of what the formula is made for.
    UnstableError
        If ``rate_rps * mean_service_s`` is not below ``n_servers``.

    References
    ----------
    .. [1] Allen (1978), "Probability, Statistics, and Queueing Theory", Academic Press.
    .. [2] Lee, Longton (1959), "Queueing processes associated with airline passenger check-in", Oper. Res.
       Quart. 10, 56-71.
    .. [3] Sakasegawa (1977), "An approximation formula L_q = alpha rho^beta / (1 - rho)", Ann. Inst. Stat.
       Math. 29, 67-75.
    .. [4] Cosmetatos (1976), "Some approximate equilibrium results for the multi-server queue (M/G/r)",
       Oper. Res. Quart. 27, 615-620.
    .. [5] Kimura (1986), "A two-moment approximation for the mean waiting time in the GI/G/s queue",
       Management Science 32, 751-763.
    .. [6] Whitt (1993), "Approximations for the GI/G/m queue", Production and Oper. Management 2, 114-161.

    Examples
    --------
    >>> queue = GGc(rate_rps=8.0, scv_interval=0.5, mean_service_s=1.0, scv_service=0.5, n_servers=10)
    >>> print(f"{queue.solve().mean_wait_s:.4f} s")
    0.0853 s
    """

    rate_rps: float
    scv_interval: float
    mean_service_s: float
    scv_service: float
    n_servers: int
    formula: Formula = "whitt"

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, mean_service_s=self.mean_service_s)
        checks.non_negative(scv_interval=self.scv_interval, scv_service=self.scv_service)
        checks.integer(n_servers=self.n_servers)
        checks.one_of("formula", self.formula, _FORMULAS)
        if self.formula in ("lee_longton", "cosmetatos") and self.scv_interval != 1:
            raise ConfigError(f"scv_interval: {self.scv_interval:g} must be 1 (Poisson) for {self.formula}")
        if self.formula == "kimura" and max(self.scv_interval, self.scv_service) > 1:
            raise ConfigError("scv_interval, scv_service: must be at most 1 for kimura; use whitt")

    @property
    def load(self) -> float:
        """Busy share of the servers, rho."""
        return self.rate_rps * self.mean_service_s / self.n_servers

    def mean_wait_s(self) -> float:
        """The mean wait by the formula, seconds."""
        require_stable(self.rate_rps, self.mean_service_s, self.n_servers)
        return _FORMULAS[self.formula](self)

    def solve(self) -> QueueResult:
        """Means by the formula and Little's law."""
        lam, wait_s = self.rate_rps, self.mean_wait_s()
        return QueueResult(
            exactness="approximation",
            route=f"{self.formula}, from two moments; exact for M/M/c",
            utilization_frac=self.load,
            mean_wait_s=wait_s,
            mean_response_s=wait_s + self.mean_service_s,
            mean_number=lam * (wait_s + self.mean_service_s),
            mean_queue=lam * wait_s,
        )


def _mmc_wait_s(q: GGc) -> float:
    c = q.n_servers
    return erlang_c(n_servers=c, load=c * q.load) * q.mean_service_s / (c * (1.0 - q.load))


def _allen_cunneen(q: GGc) -> float:
    return 0.5 * (q.scv_interval + q.scv_service) * _mmc_wait_s(q)


def _sakasegawa(q: GGc) -> float:
    c, rho = q.n_servers, q.load
    power = math.sqrt(2.0 * (c + 1)) - 1.0
    return float(rho**power) / (c * (1.0 - rho)) * 0.5 * (q.scv_interval + q.scv_service) * q.mean_service_s


def _gain(q: GGc) -> float:
    """(1 - rho)(c - 1)(sqrt(4 + 5c) - 2) / (16 rho c)."""
    c, rho = q.n_servers, q.load
    return (1.0 - rho) * (c - 1) * (math.sqrt(4.0 + 5.0 * c) - 2.0) / (16.0 * rho * c)


def _cosmetatos(q: GGc) -> float:
    return (q.scv_service + (1.0 - q.scv_service) * 0.5 * (1.0 + _gain(q))) * _mmc_wait_s(q)


def _constant_intervals(q: GGc) -> float:
    """D/M/c against M/M/c: 1/2 (1 - 4 gain) exp(-2 (1 - rho) / (3 rho))."""
    gain = min(0.24, _gain(q))
    return 0.5 * (1.0 - 4.0 * gain) * math.exp(-2.0 * (1.0 - q.load) / (3.0 * q.load))


def _kimura(q: GGc) -> float:
    ca2, cs2 = q.scv_interval, q.scv_service
    if ca2 + cs2 == 0:
        return 0.0  # nothing varies: nobody waits
    constant_service = 0.5 * (1.0 + _gain(q))
    inverse = (1.0 - ca2) / _constant_intervals(q) + (1.0 - cs2) / constant_service + 2.0 * (ca2 + cs2 - 1.0)
    return (ca2 + cs2) / inverse * _mmc_wait_s(q)


def _whitt(q: GGc) -> float:
    ca2, cs2 = q.scv_interval, q.scv_service
    if ca2 + cs2 == 0:
        return 0.0
    gain = min(0.24, _gain(q))
    phi1 = 1.0 + gain
    phi3 = (1.0 - 4.0 * gain) * math.exp(-2.0 * (1.0 - q.load) / (3.0 * q.load))
    mean = 0.5 * (ca2 + cs2)
    psi = 1.0 if mean >= 1 else min(1.0, 0.5 * (phi1 + phi3)) ** (2.0 * (1.0 - mean))
    if ca2 >= cs2:
        share = 4.0 * ca2 - 3.0 * cs2
        phi = 4.0 * (ca2 - cs2) / share * phi1 + cs2 / share * psi
    else:
        share = 2.0 * (ca2 + cs2)
        phi = (cs2 - ca2) / share * phi3 + (cs2 + 3.0 * ca2) / share * psi
    return phi * mean * _mmc_wait_s(q)


_FORMULAS: dict[str, Callable[[GGc], float]] = {
    "allen_cunneen": _allen_cunneen,
    "whitt": _whitt,
    "kimura": _kimura,
    "lee_longton": _allen_cunneen,
    "cosmetatos": _cosmetatos,
    "sakasegawa": _sakasegawa,
}
