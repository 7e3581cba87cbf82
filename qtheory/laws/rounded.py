"""A law in whole numbers: tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._atoms import Atomic
from .discrete import Discrete
from .law import Law

__all__ = ["Rounded"]

Floats = NDArray[np.float64]

_SINGLE = 65_536
_BINS_PER_OCTAVE = 512


@dataclass(frozen=True, kw_only=True)
class Rounded(Atomic):
    """X to the nearest whole number (halves go up), raised to ``low`` and cut to ``high``.

    Every whole number up to 65,536 is an atom of its own. Above, numbers are grouped in bins 0.14 % wide and
    stand at the mean of their bin, so that the mean is exact and the variance good to a millionth.

    Parameters
    ----------
    law : Law
        Law of X.
    low : int
        Smallest value, >= 0 (default 1).
    high : int, optional
        Largest value, >= ``low``; what lies above is moved to it.

    Raises
    ------
    ConfigError
        If the ends are out of order.

    Examples
    --------
    >>> from qtheory.laws import Exponential
    >>> law = Rounded(law=Exponential(mean=2.0), low=1, high=3)
    >>> values, probs = law.atoms()
    >>> print(values, probs.round(4), f"{law.mean:.4f}")
    [1. 2. 3.] [0.5276 0.1859 0.2865] 1.7589
    """

    law: Law
    low: int = 1
    high: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise ConfigError(f"law: {self.law!r} is not a law")
        checks.at_least(0, low=self.low)
        if self.high is not None:
            checks.at_least(max(self.low, 1), high=self.high)

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        top = float(self.low + 1)  # all but 1e-17 of the law lies below
        while self.law.sf(top + 0.5) > 1e-17:
            top *= 2.0
        top = top if self.high is None else min(top, float(self.high))
        n = np.arange(self.low, min(int(top), max(_SINGLE, self.low + 1)) + 1, dtype=np.float64)
        below = np.nextafter(n + 0.5, -np.inf)  # N <= n where X < n + 1/2
        left = np.concatenate([[1.0], self.law.sf(below)])  # P(N >= n), and what is left over
        values, probs = [n], [-np.diff(left)]
        if self.high is not None and n[-1] == self.high:
            probs[0][-1] += left[-1]
        elif left[-1] > 0:
            rest = self._bins(float(below[-1]), top)
            values.append(rest[0])
            probs.append(rest[1])
        value, prob = np.concatenate(values), np.concatenate(probs)
        return value[prob > 0], prob[prob > 0] / prob.sum()

    def _bins(self, start: float, top: float) -> tuple[Floats, Floats]:
        """Atoms above ``start``: one a bin at its mean, and a last one for all that lies above the bins."""
        end = max(top, start + 1.0) if self.high is None else self.high - 0.5
        n = max(1, math.ceil(_BINS_PER_OCTAVE * math.log2(end / start)))
        edges = [*np.geomspace(start, end, n + 1).tolist(), math.inf]
        probs = np.array([self.law.moment_between(0, a, b) for a, b in pairwise(edges)])
        sums = np.array([self.law.moment_between(1, a, b) for a, b in pairwise(edges[:-1])])
        last = self.law.moment_between(1, end, math.inf) if self.high is None else self.high * probs[-1]
        seen = probs > 0
        return np.append(sums, last)[seen] / probs[seen], probs[seen]

    @property
    def support(self) -> tuple[float, float]:
        """Smallest interval that holds X; the upper end may be infinite."""
        low, high = self.law.support
        limit = math.inf if self.high is None else float(self.high)
        bottom = min(max(math.floor(low + 0.5), self.low), limit)
        return float(bottom), limit if math.isinf(high) else min(max(math.floor(high + 0.5), bottom), limit)

    def atoms(self) -> tuple[Floats, Floats]:
        """Values, increasing, and their probabilities."""
        return self._arrays

    def scaled(self, c: float) -> Discrete:
        """Law of ``c`` X, ``c`` > 0."""
        values, probs = self.atoms()
        return Discrete(values=tuple((c * values).tolist()), probs=tuple(probs.tolist()))

    def rounded(self, x: Floats) -> NDArray[np.int64]:
        """The rule itself, for draws of X."""
        whole = np.floor(np.asarray(x) + 0.5)
        return np.clip(whole, self.low, self.high).astype(np.int64)

    def _ppf(self, q: Floats) -> Floats:
        return self.rounded(self.law.ppf(q)).astype(np.float64)

    def _sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        return self.rounded(self.law._sample(rng, size)).astype(np.float64)
