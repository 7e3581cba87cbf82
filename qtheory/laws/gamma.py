"""Gamma law by mean and coefficient of variation."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.ranges import number_between

from ._gamma import GammaShaped

__all__ = ["Gamma"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gamma(GammaShaped):
    r"""Shape :math:`k = 1/c^2`, scale :math:`\theta = m c^2`, transform :math:`(1 + s\theta)^{-k}`.

    Parameters
    ----------
    mean : float
        E[X] = m, > 0.
    cv : float
        Coefficient of variation c (standard deviation / mean), 1e-6 .. 1e6; 1 gives the exponential law.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> law = Gamma(mean=0.1, cv=2.0)
    >>> print(f"{law.scv:.3f} {law.cdf(0.1):.4f} {law.lst(10.0):.4f}")
    4.000 0.7437 0.6687
    """

    mean: float
    cv: float

    def __post_init__(self) -> None:
        checks.positive(mean=self.mean, cv=self.cv)
        number_between("cv", self.cv, 1e-6, 1e6)  # where 64 bits hold both the body and the moments

    @property
    def _shape(self) -> float:
        return 1.0 / self.cv**2

    @property
    def _scale(self) -> float:
        return self.mean * self.cv**2

    def scaled(self, c: float) -> Gamma:
        """Law of ``c`` X, ``c`` > 0."""
        return Gamma(mean=c * self.mean, cv=self.cv)
