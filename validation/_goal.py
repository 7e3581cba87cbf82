"""How well a simulated knee is to be known."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks

__all__ = ["Goal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is looked for, and how well it is to be known.

    Parameters
    ----------
    goodput_frac : float
        Share of good requests at the knee, in (0, 1).
    precision : float
        Half-width of the interval, relative, in (0, 1].
    level : float
        Of the interval, in (0, 1).
    max_requests : int
        Simulated at most, >= 1.
    run_requests : int or None
        Of a run to begin with, >= 1; None: some thousands, by the precision.

    Raises
    ------
    ConfigError
        If a number is out of its range.
    """

    goodput_frac: float = 0.9
    precision: float = 0.01
    level: float = 0.95
    max_requests: int = 5_000_000
    run_requests: int | None = None

    def __post_init__(self) -> None:
        checks.inner_fraction(goodput_frac=self.goodput_frac, level=self.level)
        checks.fraction(precision=self.precision)
        checks.integer(max_requests=self.max_requests)
        if self.run_requests is not None:
            checks.integer(run_requests=self.run_requests)
