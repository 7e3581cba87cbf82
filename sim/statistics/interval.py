"""A confidence interval that says how it was made and whether it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics.errors import ConfigError
from qtheory.basics.units import percent

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its confidence limits, in the unit of what was estimated.

    Parameters
    ----------
    estimate, low, high : float
        ``low <= estimate <= high``; the limits need not lie at equal distance.
    level : float
        Nominal coverage, in (0, 1).
    method : str
        How the limits were found.
    n_replications : int
        Independent runs behind it, >= 1.
    n_batches : int
        Batches that the runs were cut into, in all; 0 where the replications themselves were used.
    n_effective : float or None
        As many independent requests would have given the same variance; None where no series was there.
    reliable : bool
        Whether the nominal coverage can be expected; if not, ``reason`` says why.
    reason : str
        Empty where it is reliable.

    Raises
    ------
    ConfigError
        If the limits do not enclose the estimate.

    Examples
    --------
    >>> interval = Interval(estimate=2.0, low=1.5, high=2.5, level=0.95, method="t")
    >>> interval.half_width, interval.relative_half_width, interval.contains(2.2)
    (0.5, 0.25, True)
    >>> print(interval)
    2 (1.5 to 2.5 at 95 %)
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    n_replications: int = 1
    n_batches: int = 0
    n_effective: float | None = None
    reliable: bool = True
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.estimate <= self.high:
            raise ConfigError(
                f"low={self.low:g}, high={self.high:g} do not enclose estimate={self.estimate:g}"
            )

    @property
    def half_width(self) -> float:
        """Half of ``high - low``."""
        return (self.high - self.low) / 2

    @property
    def relative_half_width(self) -> float | None:
        """Half-width over the size of the estimate; None for an estimate of zero."""
        return self.half_width / abs(self.estimate) if self.estimate else None

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies within the limits."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        text = f"{self.estimate:.4g} ({self.low:.4g} to {self.high:.4g} at {percent(self.level)})"
        return text if self.reliable else f"{text}, not reliable: {self.reason}"
