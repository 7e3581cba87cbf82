"""M/G/1 from empty over a finite time, at any load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws.law import Law
from qtheory.numerics.fixed_point import fixed_point
from qtheory.numerics.inversion import invert_laplace, invert_laplace_2d
from qtheory.queues.result import QueueResult
from qtheory.queues.single.busy_period import takacs
from qtheory.queues.single.excess import Excess, require_law

__all__ = ["FiniteHorizon", "FiniteHorizonResult"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteHorizonResult(QueueResult):
    """M/G/1 over a finite time; the mean wait is over the arrivals in it.

    Parameters
    ----------
    final_wait_s : float
        Mean wait of one who comes at the end, seconds.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = FiniteHorizon(rate_rps=1.0, service=Exponential(mean=1.0), horizon_s=100.0).solve()
    >>> print(f"{answer.final_wait_s:.2f}")  # grows with the square root of time at a load of 1
    10.79
    """

    final_wait_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteHorizon:
    r"""Exact mean wait in M/G/1 that starts empty, over a finite time, at any load, also at and above 1.

    The chance of an empty system has the transform :math:`p_0^*(s)=1/(s+\lambda-\lambda\theta(s))` with the
    busy period's :math:`\theta` [1]_, and the mean work is :math:`E[V(t)]=(\rho-1)t+\int_0^tp_0(u)du`.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0; any load.
    service : Law
        Service time S, seconds; a finite second moment.
    horizon_s : float
        Length of the time, seconds, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range or the second moment is infinite.

    References
    ----------
    .. [1] Takacs (1962), "Introduction to the Theory of Queues", Oxford University Press, chapter 1.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> answer = FiniteHorizon(rate_rps=12.0, service=Exponential(mean=0.1), horizon_s=60.0).solve()
    >>> print(f"{answer.mean_wait_s:.3f} s on average, {answer.final_wait_s:.3f} s at the end")
    6.475 s on average, 12.500 s at the end
    """

    rate_rps: float
    service: Law
    horizon_s: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, horizon_s=self.horizon_s)
        require_law(service=self.service)

    @property
    def _load(self) -> float:
        return self.rate_rps * self.service.mean

    @property
    def _noise_s(self) -> float:
        """Variance of the work that arrives in a second, seconds."""
        return self.rate_rps * self.service.moment(2)

    def mean_work_s(self, time_s: ArrayLike) -> Floats:
        """Mean work in the system at a time, seconds: the mean wait of one who comes then."""
        return self._mean_work(np.asarray(time_s, dtype=float), order=2)

    def _mean_work(self, t: Floats, order: int) -> Floats:
        """E[V(t)] (order 2), or its integral up to t (order 3), from its transform."""
        rho = self._load
        shape, times = t.shape, np.atleast_1d(t).ravel()
        if not np.all(times > 0):
            raise ConfigError(f"time_s: {times[~(times > 0)][0]:g} must be > 0")
        # the size of the answer: drift, or diffusion, or the steady state
        size = np.maximum(np.maximum(rho - 1, 0.0) * times, np.sqrt(self._noise_s * times))
        if rho < 1:
            size = np.minimum(size, self._noise_s / (1 - rho))

        def one(t: float, size: float) -> float:
            def scaled(z: Complexes) -> Complexes:
                s = z / t
                stretched = self._stretched(s)
                return np.asarray(self._deficit(stretched) * stretched / z**order * (t / size))

            return size * float(invert_laplace(scaled, 1.0, worst=1e-5))

        found = np.array([one(a, b) for a, b in zip(times.tolist(), size.tolist(), strict=True)])
        return found.reshape(shape)

    def solve(self) -> FiniteHorizonResult:
        """Means over the horizon."""
        t = np.array([self.horizon_s])
        mean_wait_s = float(self._mean_work(t, order=3)[0])
        final_s = float(self._mean_work(t, order=2)[0])
        return FiniteHorizonResult(
            exactness="exact",
            route="transform of the empty probability, inverted",
            utilization_frac=self._load - final_s / self.horizon_s,
            mean_wait_s=mean_wait_s,
            mean_response_s=mean_wait_s + self.service.mean,
            final_wait_s=final_s,
        )

    def in_time_frac(self, limit_s: float) -> float:
        r"""Share of the arrivals that wait ``limit_s`` at most, by inversion in time and work, to about 1e-5.

        Work has the double transform :math:`(1-zp_0^*(s))/(s-z+\lambda-\lambda S^*(z))`.
        """
        checks.positive(limit_s=limit_s)
        lam, horizon = self.rate_rps, self.horizon_s

        def late(s: Complexes, z: Complexes) -> Complexes:
            empty = 1 / self._stretched(s)
            drift = s - z + lam * (1 - self.service.lst(z))
            return np.asarray((1 / s - (1 - z * empty) / drift) / (z * s * horizon))

        return 1 - min(max(invert_laplace_2d(late, horizon, limit_s, worst=1e-3), 0.0), 1.0)

    def _deficit(self, sigma: Complexes) -> Complexes:
        """Load x (1 - E[exp(-sigma S_e)]) / sigma."""
        excess = Excess(law=self.service)
        return np.asarray(self._load * excess.mean_s * excess.deficit(sigma))

    def _stretched(self, s: Complexes) -> Complexes:
        r"""The :math:`\sigma=1/p_0^*(s)`: root of :math:`\sigma-\lambda(1-S^*(\sigma))=s`."""
        lam, rho = self.rate_rps, self._load
        flat = np.asarray(s, dtype=np.complex128).ravel()
        if rho >= 1:
            return s + lam * (1 - takacs(s, lam, self.service.lst))

        def mapping(u: Complexes, which: NDArray[np.intp]) -> Complexes:
            sigma = flat[which] * u / (1 - rho)
            return np.asarray((1 - rho) / (1 - rho + sigma * self._deficit(sigma)))

        u = fixed_point(mapping, np.ones(flat.size, dtype=np.complex128))
        return np.asarray(flat * u / (1 - rho)).reshape(np.shape(s))
