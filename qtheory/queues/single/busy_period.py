"""The busy period of an M/G/1 queue, and of one that starts with some other work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law
from qtheory.numerics.fixed_point import fixed_point
from qtheory.numerics.inversion import Transform
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._common import all_atoms_of, require_stable
from .excess import require_law

__all__ = ["BorelTime", "BusyPeriod", "BusyPeriodResult", "takacs"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_MAX_TERMS = 4_000_000


def takacs(s: Complexes, rate_rps: float, service_lst: Transform) -> Complexes:
    r"""Exact transform of the busy period, the root of :math:`\theta=S^*(s+\lambda-\lambda\theta)`.

    Parameters
    ----------
    s : complex array
        Arguments, Re s > 0, per second.
    rate_rps : float
        Arrival rate, requests per second, >= 0.
    service_lst : callable (complex array) -> complex array
        Transform of one service.

    Raises
    ------
    ConvergenceError
        If the iteration does not converge.

    References
    ----------
    .. [1] Takacs (1962), "Introduction to the Theory of Queues", Oxford University Press.

    Examples
    --------
    >>> theta = takacs(np.array([1.0 + 0j]), 1.0, lambda s: 2.0 / (2.0 + s))  # M/M/1
    >>> float(theta[0].real.round(9)), float(2 - np.sqrt(2).round(9))
    (0.585786438, 0.585786438)
    """
    flat = np.asarray(s, dtype=np.complex128).ravel()

    def mapping(theta: Complexes, which: NDArray[np.intp]) -> Complexes:
        return service_lst(flat[which] + rate_rps * (1.0 - theta))

    return fixed_point(mapping, service_lst(flat + rate_rps)).reshape(np.shape(s))


@dataclass(frozen=True, slots=True, kw_only=True)
class BorelTime:
    r"""Exact law of the busy period of M/D/1: n services, :math:`e^{-\rho n}(\rho n)^{n-1}/n!` [1]_.

    Parameters
    ----------
    load : float
        :math:`\rho`, in (0, 1).
    service_s : float
        Seconds a service, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    ConvergenceError
        If a percentile needs more than four million services.

    References
    ----------
    .. [1] Borel (1942), "Sur l'emploi du theoreme de Bernoulli pour faciliter le calcul d'une infinite de
       coefficients", C. R. Acad. Sci. Paris 214, 452-456.

    Examples
    --------
    >>> busy = BorelTime(load=0.5, service_s=2.0)
    >>> busy.mean_s, float(busy.sf(2.0).round(6)), float(busy.ppf(0.9))
    (4.0, 0.393469, 8.0)
    """

    load: float
    service_s: float

    def __post_init__(self) -> None:
        checks.fraction(load=self.load)
        checks.positive(service_s=self.service_s)
        require_stable(self.load, 1.0)

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return self.service_s / (1 - self.load)

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.load * self.service_s**2 / (1 - self.load) ** 3

    def _tail(self, n_last: int) -> Floats:
        """P(services > n) for n = 0..n_last."""
        n = np.arange(1, n_last + 1, dtype=float)
        with np.errstate(under="ignore"):
            pmf = np.exp(-self.load * n + (n - 1) * np.log(self.load * n) - gammaln(n + 1))
        return np.concatenate([[1.0], np.maximum(1.0 - np.cumsum(pmf), 0.0)])

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        done = np.floor(np.asarray(t, dtype=float) / self.service_s * (1 + 1e-14))
        most = float(np.max(done, initial=0.0))
        if most > _MAX_TERMS:
            raise ConvergenceError(f"t: {most:g} services are more than {_MAX_TERMS:,}; ask for less")
        tail = self._tail(int(most))
        return np.asarray(tail[np.maximum(done, 0).astype(int)])

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        levels = np.asarray(q, dtype=float)
        if not np.all((levels > 0) & (levels < 1)):
            raise ConfigError(f"q: {levels} must lie strictly between 0 and 1")
        n_last = 64
        while (tail := self._tail(n_last))[-1] > 1 - np.max(levels):
            n_last *= 4
            if n_last > _MAX_TERMS:
                raise ConvergenceError(
                    f"q: {np.max(levels):g} needs more than {_MAX_TERMS:,} services; ask for less"
                )
        return np.asarray(np.searchsorted(-tail, levels - 1.0) * self.service_s, dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyPeriodResult(QueueResult):
    """A busy period.

    Parameters
    ----------
    mean_busy_period_s, var_busy_period_s2 : float
        Its mean and variance (None: infinite), seconds and seconds squared.
    mean_served : float
        Customers served in it, on average.
    busy_period : TimeLaw
        Its law.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = BusyPeriod(rate_rps=0.5, service=Exponential(mean=1.0)).solve()
    >>> answer.mean_busy_period_s, answer.var_busy_period_s2, answer.mean_served
    (2.0, 12.0, 2.0)
    """

    mean_busy_period_s: float
    var_busy_period_s2: float | None
    mean_served: float
    busy_period: TimeLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyPeriod:
    r"""Exact busy period of M/G/1 by Takacs' equation; with ``initial`` the delay busy period that it starts.

    Started by work U it has the transform :math:`U^*(s+\lambda-\lambda\theta(s))`, mean
    :math:`E[U]/(1-\rho)` and variance :math:`\mathrm{Var}U/(1-\rho)^2+\lambda E[U]E[S^2]/(1-\rho)^3` [1]_.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    service : Law
        Service time S, seconds.
    initial : Law, optional
        The work U at the start, seconds; one service by default.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if the load is 1 or more: the busy period may then never end.

    References
    ----------
    .. [1] Conway, Maxwell, Miller (1967), "Theory of Scheduling", Addison-Wesley, section 8-4.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = BusyPeriod(rate_rps=5.0, service=Exponential(mean=0.1)).solve()
    >>> print(f"{answer.mean_busy_period_s:.3f} {answer.busy_period.ppf(0.9):.4f}")
    0.200 0.4937
    """

    rate_rps: float
    service: Law
    initial: Law | None = None

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps)
        require_law(service=self.service, **({} if self.initial is None else {"initial": self.initial}))

    def lst(self, s: Complexes) -> Complexes:
        """Transform E[exp(-s T)], Re s > 0."""
        theta = takacs(s, self.rate_rps, self.service.lst)
        if self.initial is None:
            return theta
        return self.initial.lst(s + self.rate_rps * (1.0 - theta))

    def _law(self, first: Law, mean: float, var: float | None) -> TransformLaw:
        """By inversion; a first work with atoms and no arrival in it is taken out, for its jumps."""
        lam, atoms = self.rate_rps, all_atoms_of(first)
        jumpy = all_atoms_of(self.service) is not None
        size, alone = (
            (np.zeros(1), np.zeros(1)) if atoms is None else (atoms[0], atoms[1] * np.exp(-lam * atoms[0]))
        )

        def tail_lst(s: Complexes) -> Complexes:
            known = (alone.sum() - np.exp(-s[..., None] * size) @ alone) / s
            return np.asarray((1.0 - self.lst(s)) / s - known)

        return TransformLaw(
            tail_lst=tail_lst,
            mean_s=mean,
            variance_s2=var,
            known_tail=None if atoms is None else lambda t: (size > t[..., None]) @ alone,
            worst=1e-3 if jumpy else 2e-5,  # sums of constant services leave smaller jumps
            cause="the second moment of the service or of the initial work is infinite",
        )

    def solve(self) -> BusyPeriodResult:
        """Moments and law."""
        lam, first = self.rate_rps, self.initial or self.service
        rho = lam * self.service.mean
        require_stable(lam, self.service.mean)
        mean = first.mean / (1 - rho)
        try:
            var = first.var / (1 - rho) ** 2 + lam * first.mean * self.service.moment(2) / (1 - rho) ** 3
        except ConfigError:
            var = None
        law: TimeLaw
        if isinstance(self.service, Constant) and self.initial is None:
            law = BorelTime(load=rho, service_s=self.service.mean)
        else:
            law = self._law(first, mean, var)
        return BusyPeriodResult(
            exactness="exact",
            route="Takacs' equation; law by transform inversion",
            utilization_frac=rho,
            mean_busy_period_s=mean,
            var_busy_period_s2=var,
            mean_served=1.0 + lam * mean if self.initial is None else lam * mean,
            busy_period=law,
        )
