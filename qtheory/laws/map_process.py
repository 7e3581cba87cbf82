"""Markovian arrival processes: renewal, Markov-modulated Poisson, and any other with phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.numerics.markov import stationary
from qtheory.numerics.phase import check_subgenerator

from .law import Law
from .phase_type import PhaseType

__all__ = ["MarkovianArrivals"]

Floats = NDArray[np.float64]
Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class MarkovianArrivals:
    r"""MAP: a Markov chain whose transitions come with an arrival (``with_arrival``) or without
    (``without``).

    Stationary phases :math:`\pi(D_0+D_1)=0`, rate :math:`\pi D_1\mathbf 1`, phases at arrivals
    :math:`\phi\propto\pi D_1`; intervals are phase-type with lag-k products
    :math:`E[X_0X_k]=\phi M^1(MD_1)^kM\mathbf 1`, :math:`M=(-D_0)^{-1}` [1]_.

    Parameters
    ----------
    without : sequence of sequences of float
        :math:`D_0`: rates without an arrival off the diagonal, minus the total rate of a phase on it.
    with_arrival : sequence of sequences of float
        :math:`D_1`: rates with an arrival, >= 0. Rows of :math:`D_0+D_1` sum to zero.

    Raises
    ------
    ConfigError
        If the matrices do not make a process with a positive rate.

    References
    ----------
    .. [1] Lucantoni (1991), "New results on the single server queue with a batch Markovian arrival process",
       Stochastic Models 7, 1-46.

    Examples
    --------
    >>> calm_and_busy = MarkovianArrivals.modulated_poisson(rates_rps=[0.5, 1.1], leave_per_s=[0.1, 0.2])
    >>> round(calm_and_busy.rate_rps, 6), round(calm_and_busy.scv, 4)
    (0.7, 1.2105)
    """

    without: Matrix
    with_arrival: Matrix

    def __post_init__(self) -> None:
        d0, d1 = np.array(self.without, dtype=float), np.array(self.with_arrival, dtype=float)
        check_subgenerator("without", d0)
        if d1.shape != d0.shape or not np.all(np.isfinite(d1)) or d1.min() < 0 or d1.max() <= 0:
            raise ConfigError("with_arrival: must be rates >= 0, not all zero, in the shape of without")
        off = np.abs((d0 + d1).sum(axis=1))
        if off.max() > 1e-9 * np.abs(np.diag(d0)).max():
            raise ConfigError(
                f"without, with_arrival: row {int(np.argmax(off))} must sum to 0, not {off.max():g}"
            )
        np.fill_diagonal(d0, 0.0)
        np.fill_diagonal(d0, -(d0.sum(axis=1) + d1.sum(axis=1)))
        object.__setattr__(self, "without", tuple(tuple(row) for row in d0.tolist()))
        object.__setattr__(self, "with_arrival", tuple(tuple(row) for row in d1.tolist()))

    @classmethod
    def poisson(cls, *, rate_rps: float) -> MarkovianArrivals:
        """A Poisson process."""
        checks.positive(rate_rps=rate_rps)
        return cls(without=[[-rate_rps]], with_arrival=[[rate_rps]])

    @classmethod
    def modulated_poisson(
        cls, *, rates_rps: Sequence[float], leave_per_s: Sequence[float]
    ) -> MarkovianArrivals:
        """MMPP: Poisson with ``rates_rps[i]`` in phase i, left at ``leave_per_s[i]`` for the next phase."""
        rates, leave = np.array(rates_rps, dtype=float), np.array(leave_per_s, dtype=float)
        if rates.ndim != 1 or rates.shape != leave.shape or rates.size < 2:
            raise ConfigError(
                "rates_rps, leave_per_s: give two or more phases, and as many of the one as of the other"
            )
        if (
            not np.all(np.isfinite(rates))
            or rates.min() < 0
            or not np.all(np.isfinite(leave))
            or leave.min() <= 0
        ):
            raise ConfigError("rates_rps must be >= 0 and leave_per_s > 0, all finite")
        switch = np.zeros((rates.size, rates.size))
        switch[np.arange(rates.size), np.roll(np.arange(rates.size), -1)] = leave
        return cls(without=(switch - np.diag(leave + rates)).tolist(), with_arrival=np.diag(rates).tolist())

    @classmethod
    def renewal(cls, law: Law) -> MarkovianArrivals:
        """Independent intervals of a law that is made of exponential phases (`PhaseType.of`)."""
        phases = PhaseType.of(law)
        if abs(phases.start_vector.sum() - 1.0) > 1e-9:
            raise ConfigError(f"law: {law} must not be zero with a positive probability")
        back = np.outer(phases.exit_rates, phases.start_vector)
        return cls(without=phases.rates, with_arrival=back.tolist())

    @cached_property
    def d0(self) -> Floats:
        """Rates without an arrival, shape (m, m)."""
        return np.array(self.without, dtype=float)

    @cached_property
    def d1(self) -> Floats:
        """Rates with an arrival, shape (m, m)."""
        return np.array(self.with_arrival, dtype=float)

    @cached_property
    def phases(self) -> Floats:
        """Stationary law of the phase, shape (m,)."""
        return stationary(self.d0 + self.d1)

    @cached_property
    def phases_at_arrival(self) -> Floats:
        """Law of the phase just after an arrival, shape (m,)."""
        flow = self.phases @ self.d1
        return np.asarray(flow / flow.sum(), dtype=float)

    @property
    def rate_rps(self) -> float:
        """Mean arrivals per second."""
        return float(self.phases @ self.d1.sum(axis=1))

    @property
    def interval(self) -> PhaseType:
        """Law of one interval between arrivals."""
        return PhaseType(start=self.phases_at_arrival.tolist(), rates=self.without)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of the intervals."""
        return self.interval.scv

    def correlation(self, lag: int) -> float:
        """Correlation of an interval with the one ``lag`` >= 1 later."""
        checks.integer(lag=lag)
        m = np.linalg.inv(-self.d0)
        step = m @ self.d1
        mean = 1.0 / self.rate_rps
        product = float(self.phases_at_arrival @ m @ np.linalg.matrix_power(step, lag) @ m.sum(axis=1))
        return (product - mean**2) / self.interval.var

    def scaled(self, c: float) -> MarkovianArrivals:
        """The same process with all times multiplied by ``c`` > 0."""
        checks.positive(c=c)
        return MarkovianArrivals(without=(self.d0 / c).tolist(), with_arrival=(self.d1 / c).tolist())

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """``n`` successive intervals of the stationary process, the first one starting at an arrival."""
        checks.integer(n=n)
        size = len(self.phases)
        total = -np.diag(self.d0)
        p = np.hstack([self.d0 / total[:, None] + np.eye(size), self.d1 / total[:, None]])
        cumulative = np.cumsum(p, axis=1)
        phase = int(np.searchsorted(np.cumsum(self.phases_at_arrival), rng.random(), side="right"))
        phase = min(phase, size - 1)
        intervals = np.zeros(n)
        for i in range(n):
            while True:
                intervals[i] += rng.standard_exponential() / total[phase]
                jump = min(int(np.searchsorted(cumulative[phase], rng.random(), side="right")), 2 * size - 1)
                phase = jump % size
                if jump >= size:
                    break
        return intervals
