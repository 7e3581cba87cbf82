"""M_t/G/inf: a server for everybody, arrivals at a rate that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtr

from qtheory.basics import checks
from qtheory.laws.law import Law
from qtheory.queues.single.excess import Excess, require_law

from ._rates import checked_rates

__all__ = ["MtGInf", "SineMtGInf"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MtGInf:
    r"""Exact M_t/G/inf with a rate constant between given times, empty at the first.

    The number present is Poisson of mean :math:`m(t)=\int\lambda(u)P(S>t-u)du` [1]_.

    Parameters
    ----------
    times_s : sequence of float
        Times at which the rate changes, seconds, increasing; after the last nobody comes.
    rates_rps : sequence of float
        Arrival rates between them, requests per second, >= 0.
    service : Law
        Time S that each customer stays, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Eick, Massey, Whitt (1993), "The physics of the M_t/G/inf queue", Operations Research 41, 731-742.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = MtGInf(times_s=[0.0, 10.0], rates_rps=[5.0], service=Exponential(mean=2.0))
    >>> queue.mean_number([1.0, 10.0, 12.0]).round(4).tolist()
    [3.9347, 9.9326, 3.654]
    """

    times_s: Sequence[float]
    rates_rps: Sequence[float]
    service: Law

    def __post_init__(self) -> None:
        checked_rates(self.times_s, self.rates_rps)
        require_law(service=self.service)

    def mean_number(self, time_s: ArrayLike) -> Floats:
        """Mean number present at the times."""
        times, rates = checked_rates(self.times_s, self.rates_rps)
        at = np.asarray(time_s, dtype=float)
        since = np.maximum(at[..., None] - times, 0.0)  # (..., m+1)
        stayed = self._capped(since)  # E[min(S, age)]
        return np.asarray((stayed[..., :-1] - stayed[..., 1:]) @ rates)

    def _capped(self, age: Floats) -> Floats:
        """E[min(S, age)]."""
        law = self.service
        values = [
            law.moment_between(1, -1.0, x) + x * law.sf(x) if x > 0 else 0.0 for x in age.ravel().tolist()
        ]
        return np.array(values).reshape(age.shape)

    def number_cdf(self, n: int, time_s: float) -> float:
        """P(N(t) <= n)."""
        checks.at_least(0, n=n)
        return float(pdtr(n, self.mean_number(time_s)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SineMtGInf:
    r"""Exact M_t/G/inf with the rate :math:`\bar\lambda+\beta\sin(2\pi t/P)`, long after its start.

    :math:`m(t)=E[S]\left(\bar\lambda+\beta\,\mathrm{Im}\,e^{i\gamma t}S_e^*(i\gamma)\right)` with
    :math:`\gamma=2\pi/P` and the excess :math:`S_e`: the number follows the rate late, and damped [1]_.

    Parameters
    ----------
    mean_rate_rps : float
        Mean arrival rate :math:`\bar\lambda`, requests per second, > 0.
    swing_frac : float
        :math:`\beta/\bar\lambda`, in [0, 1].
    period_s : float
        Period P, seconds, > 0.
    service : Law
        Time S that each customer stays, seconds.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Eick, Massey, Whitt (1993), "M_t/G/inf queues with sinusoidal arrival rates", Management Science
       39, 241-252.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> queue = SineMtGInf(mean_rate_rps=10.0, swing_frac=0.5, period_s=60.0, service=Exponential(mean=6.0))
    >>> round(queue.peak_number, 3), round(queue.lag_s, 3)
    (85.402, 5.357)
    """

    mean_rate_rps: float
    swing_frac: float
    period_s: float
    service: Law

    def __post_init__(self) -> None:
        checks.positive(mean_rate_rps=self.mean_rate_rps, period_s=self.period_s)
        checks.non_negative(swing_frac=self.swing_frac)
        if self.swing_frac:
            checks.fraction(swing_frac=self.swing_frac)
        require_law(service=self.service)

    def _response(self) -> complex:
        """S_e*(i gamma)."""
        gamma = 2 * np.pi / self.period_s
        return complex(Excess(law=self.service).lst(np.array([1j * gamma]))[0])

    def mean_number(self, time_s: ArrayLike) -> Floats:
        """Mean number present at the times."""
        gamma = 2 * np.pi / self.period_s
        swing = (np.exp(1j * gamma * np.asarray(time_s, dtype=float)) * self._response()).imag
        return np.asarray(self.mean_rate_rps * self.service.mean * (1 + self.swing_frac * swing))

    @property
    def peak_number(self) -> float:
        """Largest mean number."""
        return self.mean_rate_rps * self.service.mean * (1 + self.swing_frac * abs(self._response()))

    @property
    def lag_s(self) -> float:
        """How long after the rate the number has its peak, seconds."""
        return float(-np.angle(self._response()) * self.period_s / (2 * np.pi))
