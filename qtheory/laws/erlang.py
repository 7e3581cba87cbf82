"""Sum of equal exponential phases."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks

from ._gamma import GammaShaped

__all__ = ["Erlang"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erlang(GammaShaped):
    r"""Sum of ``k`` independent exponentials of mean ``mean / k`` each; SCV :math:`1/k`.

    Parameters
    ----------
    k : int
        Phases, >= 1.
    mean : float
        E[X], > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> law = Erlang(k=4, mean=2.0)
    >>> print(f"{law.scv:g} {law.moment(2):g} {law.lst(0.5):.4f}")
    0.25 5 0.4096
    """

    k: int
    mean: float

    def __post_init__(self) -> None:
        checks.integer(k=self.k)
        checks.positive(mean=self.mean)

    @property
    def _shape(self) -> float:
        return float(self.k)

    @property
    def _scale(self) -> float:
        return self.mean / self.k

    def scaled(self, c: float) -> Erlang:
        """Law of ``c`` X, ``c`` > 0."""
        return Erlang(k=self.k, mean=c * self.mean)
