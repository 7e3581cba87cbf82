"""How long a batch takes: laws of the service time, given the batch size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Discrete, Empirical, Gamma, Law, Rounded
from qtheory.laws.max_of import MaxOf

__all__ = ["AffineService", "BatchService", "LongestMemberService"]

Floats = NDArray[np.float64]
BatchService = Callable[[int], Law]


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineService:
    r"""A batch of b takes :math:`\tau(b)=\mathrm{base}+\mathrm{slope}\cdot b` seconds on average.

    Parameters
    ----------
    base_s, slope_s : float
        Seconds a batch and seconds a member, >= 0, not both zero.
    scv : float
        Squared coefficient of variation, >= 0: 0 is a constant time, otherwise a gamma time (1: exponential),
        independent of all else.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> service = AffineService(base_s=0.05, slope_s=0.01)
    >>> round(service(4).mean, 6), service(4).scv
    (0.09, 0.0)
    """

    base_s: float
    slope_s: float
    scv: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s, scv=self.scv)
        if self.base_s + self.slope_s <= 0:
            raise ConfigError("base_s, slope_s: one of them must be > 0")

    def __call__(self, batch: int) -> Law:
        """The law of the service time of a batch of this size."""
        mean = self.base_s + self.slope_s * batch
        return Gamma(mean=mean, cv=math.sqrt(self.scv)) if self.scv > 0 else Constant(value=mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestMemberService:
    r"""A batch runs until its longest member is done: base + slope b + unit max(X_1..X_b) [1]_.

    Parameters
    ----------
    length : Law
        Length X of a member (steps, tokens, bytes).
    unit_s : float
        Seconds per unit of the longest length, > 0.
    base_s, slope_s : float
        Seconds a batch and seconds a member, >= 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Yang, Xu, Jiao (2024), "A queueing theoretic perspective on low-latency LLM inference with variable
       token length", arXiv:2407.05347.

    Examples
    --------
    >>> from qtheory.laws import Uniform
    >>> service = LongestMemberService(length=Uniform(low=0.0, high=10.0), unit_s=0.1, base_s=0.5)
    >>> round(service(4).mean, 6)  # 0.5 + 0.1 * 10 * 4/5
    1.3
    """

    length: Law
    unit_s: float
    base_s: float = 0.0
    slope_s: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(unit_s=self.unit_s)
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s)
        if not isinstance(self.length, Law):
            raise ConfigError(f"length: {self.length!r} is not a law; give one of qtheory.laws")

    def __call__(self, batch: int) -> Law:
        """The law of the service time of a batch of this size."""
        shift = self.base_s + self.slope_s * batch
        if isinstance(self.length, Discrete | Empirical | Rounded):
            values, probs = self.length.atoms()
            upto = np.minimum(np.cumsum(probs), 1.0) ** batch
            upto[-1] = 1.0
            probs = np.diff(upto, prepend=0.0)
            return Discrete(values=(shift + self.unit_s * values).tolist(), probs=probs.tolist())
        return MaxOf(law=self.length, n=batch, shift=shift, factor=self.unit_s)
