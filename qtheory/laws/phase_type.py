"""Times until a Markov chain ends: phase-type and Coxian laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from qtheory.basics.errors import ConfigError
from qtheory.numerics.phase import check_subgenerator, phase_tail

from .erlang import Erlang
from .exponential import Exponential
from .hyperexponential import Hyperexponential
from .law import Law
from .mixture import Mixture

__all__ = ["Coxian", "PhaseType"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class PhaseType(Law):
    r"""Time until a chain with the sub-generator T ends, started with the probabilities alpha.

    :math:`P(X>x)=\alpha e^{Tx}\mathbf 1`, :math:`E[X^k]=k!\,\alpha(-T)^{-k}\mathbf 1`,
    :math:`E[e^{-sX}]=\alpha(sI-T)^{-1}(-T\mathbf 1)` [1]_. What ``start`` lacks to 1 is an X of zero.

    Parameters
    ----------
    start : sequence of float
        Probabilities alpha of the first phase, >= 0, sum > 0 and at most 1.
    rates : sequence of sequences of float
        T: rates from phase to phase off the diagonal, minus the total rate of a phase on it; every row sum
        <= 0 and an end within reach of every phase.

    Raises
    ------
    ConfigError
        If the numbers do not make a law.

    References
    ----------
    .. [1] Neuts (1981), "Matrix-Geometric Solutions in Stochastic Models", chapter 2.

    Examples
    --------
    >>> law = PhaseType(start=[1.0, 0.0], rates=[[-2.0, 2.0], [0.0, -2.0]])  # Erlang-2 of mean 1
    >>> round(law.mean, 12), round(law.scv, 12), round(float(law.sf(1.0)), 6)
    (1.0, 0.5, 0.406006)
    """

    start: Sequence[float]
    rates: Matrix

    def __post_init__(self) -> None:
        start = np.array(self.start, dtype=float)
        rates = np.array(self.rates, dtype=float)
        check_subgenerator("rates", rates)
        if start.shape != (len(rates),):
            raise ConfigError(f"start: {start.size} probabilities for {len(rates)} phases; give one a phase")
        if not np.all(np.isfinite(start)) or start.min() < 0 or not 0 < start.sum() <= 1 + 1e-9:
            raise ConfigError(f"start: {start.tolist()} must be >= 0 with a sum above 0 and at most 1")
        object.__setattr__(self, "start", tuple(start.tolist()))
        object.__setattr__(self, "rates", tuple(tuple(row) for row in rates.tolist()))
        if np.linalg.cond(rates) > 1e15:
            raise ConfigError("rates: a phase never ends; every phase must lead to the end")

    @classmethod
    def of(cls, law: Law) -> PhaseType:
        """The same law in phases: of an `Exponential`, `Erlang`, `Hyperexponential`, or a mixture of such."""
        if isinstance(law, PhaseType):
            return law
        if isinstance(law, Exponential):
            return cls(start=[1.0], rates=[[-1.0 / law.mean]])
        if isinstance(law, Erlang):
            rate = law.k / law.mean
            rates = rate * (np.eye(law.k, k=1) - np.eye(law.k))
            return cls(start=np.eye(1, law.k)[0].tolist(), rates=rates.tolist())
        if isinstance(law, Hyperexponential):
            return cls(start=law.probs, rates=(-np.diag(1.0 / np.array(law.means))).tolist())
        if isinstance(law, Mixture):
            parts = [cls.of(part) for part in law.laws]
            start = np.concatenate(
                [w * part.start_vector for w, part in zip(law.weights, parts, strict=True)]
            )
            return cls(start=start.tolist(), rates=block_diag(*[part.generator for part in parts]).tolist())
        raise ConfigError(
            f"law: {law} is not made of exponential phases; give an Exponential, Erlang, Hyperexponential, "
            "PhaseType or Coxian law"
        )

    @cached_property
    def start_vector(self) -> Floats:
        """alpha, shape (m,)."""
        return np.array(self.start, dtype=float)

    @cached_property
    def generator(self) -> Floats:
        """T, shape (m, m)."""
        return np.array(self.rates, dtype=float)

    @cached_property
    def exit_rates(self) -> Floats:
        """Rates -T 1 of the end, shape (m,)."""
        return np.asarray(np.maximum(-self.generator.sum(axis=1), 0.0), dtype=float)

    @property
    def mean(self) -> float:
        """E[X]."""
        return self.moment(1)

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X."""
        return 0.0, math.inf

    def scaled(self, c: float) -> PhaseType:
        """Law of ``c`` X, ``c`` > 0."""
        return PhaseType(start=self.start, rates=(self.generator / c).tolist())

    def _sf(self, x: Floats) -> Floats:
        tail = phase_tail(self.start_vector, self.generator, np.maximum(x, 0.0))
        return np.asarray(np.clip(tail, 0.0, 1.0), dtype=float)

    def _cdf(self, x: Floats) -> Floats:
        return 1.0 - self._sf(x)

    def _moment_between(self, k: int, low: float, high: float) -> float:
        if low < 0 and math.isinf(high):
            vector: Floats = np.ones(len(self.start))
            for _ in range(k):
                vector = np.asarray(np.linalg.solve(-self.generator, vector), dtype=float)
            return float(math.factorial(k) * (self.start_vector @ vector)) if k else 1.0
        return Law._moment_between(self, k, low, high)

    def _lst(self, s: Complexes) -> Complexes:
        m = len(self.start)
        flat = np.atleast_1d(s).ravel()
        if np.any(flat.real <= self._slowest):
            raise ConfigError(f"s: real part {flat.real.min():g} must lie above {self._slowest:g}")
        system = flat[:, None, None] * np.eye(m) - self.generator
        ends = np.broadcast_to(self.exit_rates.astype(complex)[:, None], (len(flat), m, 1))
        solved = np.linalg.solve(system, ends)[..., 0]
        values = solved @ self.start_vector + (1.0 - self.start_vector.sum())
        return np.asarray(values.reshape(np.shape(s)), dtype=np.complex128)

    @cached_property
    def _slowest(self) -> float:
        """Largest real part of an eigenvalue of T: the transform exists to the right of it."""
        return float(np.max(np.linalg.eigvals(self.generator).real))

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        shape = (size,) if isinstance(size, int) else size
        n, m = math.prod(shape), len(self.start)
        total = -np.diag(self.generator)
        jump = np.cumsum(np.hstack([self.generator / total[:, None] + np.eye(m), np.ones((m, 1))]), axis=1)
        begin = np.append(np.cumsum(self.start_vector), np.inf)
        phase = np.searchsorted(begin, rng.random(n), side="right")
        time = np.zeros(n)
        alive = np.flatnonzero(phase < m)
        while alive.size:
            here = phase[alive]
            time[alive] += rng.standard_exponential(alive.size) / total[here]
            phase[alive] = (rng.random(alive.size)[:, None] >= jump[here, :m]).sum(axis=1)
            alive = alive[phase[alive] < m]
        return time.reshape(shape)


@dataclass(frozen=True, kw_only=True)
class Coxian(PhaseType):
    r"""Phases one after the other; after phase i the time goes on with probability ``go_on[i]``.

    Every SCV >= 1/m can be met with m phases [1]_.

    Parameters
    ----------
    phase_rates : sequence of float
        Rates of the phases, > 0.
    go_on : sequence of float
        Probabilities in [0, 1], one fewer than rates.
    start, rates
        Not given: they follow.

    Raises
    ------
    ConfigError
        If a number is out of range.

    References
    ----------
    .. [1] Cox (1955), "A use of complex probabilities in the theory of stochastic processes", Proc. Camb.
       Phil. Soc. 51, 313-319.

    Examples
    --------
    >>> law = Coxian(phase_rates=[2.0, 0.5], go_on=[0.25])
    >>> round(law.mean, 12), round(law.scv, 12)  # 1/2 + 0.25 * 2
    (1.0, 2.0)
    """

    start: Sequence[float] = ()
    rates: Matrix = ()
    phase_rates: Sequence[float]
    go_on: Sequence[float]

    def __post_init__(self) -> None:
        mu, on = np.array(self.phase_rates, dtype=float), np.array(self.go_on, dtype=float)
        if self.start or self.rates:
            raise ConfigError("start, rates: follow from phase_rates and go_on; leave them out")
        if not mu.size or not np.all(np.isfinite(mu)) or mu.min() <= 0:
            raise ConfigError(f"phase_rates: {mu.tolist()} must be one or more finite numbers > 0")
        if on.shape != (mu.size - 1,) or np.any(~((on >= 0) & (on <= 1))):
            raise ConfigError(f"go_on: {on.tolist()} must be {mu.size - 1} probabilities")
        rates = -np.diag(mu)
        rates[np.arange(mu.size - 1), np.arange(1, mu.size)] = mu[:-1] * on
        object.__setattr__(self, "phase_rates", tuple(mu.tolist()))
        object.__setattr__(self, "go_on", tuple(on.tolist()))
        object.__setattr__(self, "start", np.eye(1, mu.size)[0].tolist())
        object.__setattr__(self, "rates", rates.tolist())
        PhaseType.__post_init__(self)

    def scaled(self, c: float) -> Coxian:
        """Law of ``c`` X, ``c`` > 0."""
        return Coxian(phase_rates=[rate / c for rate in self.phase_rates], go_on=self.go_on)

    def __str__(self) -> str:
        rates, on = list(self.phase_rates), list(self.go_on)
        return f"coxian(phase_rates={rates}, go_on={on})"
