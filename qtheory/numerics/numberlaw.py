"""Laws of a number 0, 1, 2, ...: variance and percentiles from its probabilities, or from the response."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError

__all__ = ["NumberLaw", "poisson_ppf"]

Floats = NDArray[np.float64]

_RUN = 24  # equal ratios in a row that let the tail count as geometric
_FAR = 500  # where the geometric tail is looked at once more
_SAME = 1e-12
_MOST = 1_000_000
_ROUNDING = 1e-10  # probabilities by inversion are as good as that


class _TimeLaw(Protocol):
    """What is asked of the law of a response."""

    def sf(self, t: ArrayLike) -> Floats: ...
    def ppf(self, q: ArrayLike) -> Floats: ...


@dataclass
class NumberLaw:
    """A law on 0, 1, 2, ...: probabilities up to where they fall by a fixed ratio, asked for as needed.

    Parameters
    ----------
    pmf : callable (int) -> float
        P(N = n).
    most : int
        Probabilities asked for at most.

    Raises
    ------
    ConvergenceError
        From its methods, if the law goes on beyond ``most`` and does not fall by a fixed ratio.

    Examples
    --------
    >>> law = NumberLaw(lambda n: 0.1 * 0.9**n)
    >>> round(law.var(9.0), 9), law.ppf(0.99)
    (90.0, 43)
    """

    pmf: Callable[[int], float]
    most: int = _MOST
    _probs: list[float] = field(default_factory=list)
    _below: float = 0.0
    _ratio: float = 0.0
    _alike: int = 0

    def _grow(self) -> None:
        """One probability more."""
        n = len(self._probs)
        if n >= self.most:
            raise ConvergenceError(f"number: its law is not known after {self.most:,} probabilities")
        prob = self.pmf(n)
        before = self._ratio
        self._ratio = prob / self._probs[-1] if n and self._probs[-1] > 0 else 0.0
        same = 0 < self._ratio < 1 and abs(self._ratio - before) <= _SAME * self._ratio
        self._alike = self._alike + 1 if same else 0
        self._probs.append(prob)
        self._below += prob

    def _is_geometric(self) -> bool:
        """Whether all that follow fall by the present ratio."""
        if self._alike < _RUN or self._alike % _RUN:
            return False
        wanted = self._probs[-1] * self._ratio**_FAR
        there = self.pmf(len(self._probs) - 1 + _FAR)
        return abs(there - wanted) <= 1e-9 * wanted + 1e-18

    def var(self, mean: float) -> float:
        """Variance, given the mean."""
        while not (geometric := self._is_geometric()):
            if self._below > 0.5 and self._probs[-1] * (len(self._probs) + 1.0) ** 3 < 1e-18:
                break
            self._grow()
        head = math.fsum((n - mean) ** 2 * prob for n, prob in enumerate(self._probs))
        if not geometric:
            return head
        # sum over j >= 1 of (gap + j)^2 last ratio^j
        gap, last, ratio = len(self._probs) - 1 - mean, self._probs[-1], self._ratio
        rest = 1.0 - ratio
        one, two = ratio / rest**2, ratio * (1.0 + ratio) / rest**3
        return head + last * (gap**2 * ratio / rest + 2.0 * gap * one + two)

    def ppf(self, level: float) -> int:
        """The smallest n with P(N <= n) >= level, a level in (0, 1)."""
        if not 0 < level < 1:
            raise ConfigError(f"level: {level:g} must lie strictly between 0 and 1")
        self._probs, self._below, self._ratio, self._alike = [], 0.0, 0.0, 0
        while self._below < level * (1.0 - _ROUNDING):
            if self._is_geometric():
                above = self._probs[-1] * self._ratio / (1.0 - self._ratio)
                steps = math.log((1.0 - level) / above) / math.log(self._ratio)
                return len(self._probs) - 1 + math.ceil(steps - 1e-9)
            self._grow()
        return len(self._probs) - 1


_NODES = np.arange(-8, 9) * 0.75  # equal steps under a normal density: good to 1e-9
_WEIGHTS = 0.75 * np.exp(-(_NODES**2) / 2.0) / np.sqrt(2.0 * np.pi)


def poisson_ppf(rate_rps: float, response: _TimeLaw, level: float) -> int:
    """The smallest n with P(N <= n) >= level, N the Poisson arrivals in a response; for large n.

    In a queue whose customers leave in the order of arrival, unseen by those behind them, that is the number
    present. P(N > n) is the mean of P(T > t) over the time t of n + 1 arrivals, a gamma time.

    Parameters
    ----------
    rate_rps : float
        Rate of the arrivals, per second, > 0.
    response : law of a time
        With ``sf`` and ``ppf``.
    level : float
        In (0, 1).

    Raises
    ------
    ConfigError
        If the rate is not above 0.

    Examples
    --------
    >>> from qtheory.numerics.timelaw import ExponentialSum
    >>> poisson_ppf(0.999, ExponentialSum(weights=(1.0,), rates_per_s=(0.001,)), 0.99)  # M/M/1
    4602
    """
    checks.positive(rate_rps=rate_rps)
    early, late = special.ndtr(_NODES[_NODES < 0]), special.ndtr(-_NODES[_NODES >= 0])

    def is_above(n: int) -> bool:
        arrived = np.r_[special.gammaincinv(n + 1.0, early), special.gammainccinv(n + 1.0, late)]
        return bool(_WEIGHTS @ response.sf(arrived / rate_rps) > 1.0 - level)

    start = max(int(rate_rps * float(response.ppf(level))), 1)
    step = max(int(math.sqrt(start)) // 8, 1)
    low = high = start
    while low >= 0 and not is_above(low):
        low, high, step = low - step, low, 2 * step
    while high == low or is_above(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_above(middle) else (low, middle)
    return high
