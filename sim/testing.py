"""Small step times for tests and for cases in which only the order of things matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qtheory.basics import checks

__all__ = ["AffineStep", "ConstantStep"]


@dataclass(frozen=True, slots=True)
class ConstantStep:
    """Every step takes the same time.

    Parameters
    ----------
    seconds : float
        Seconds of a step, > 0.

    Raises
    ------
    ConfigError
        If ``seconds`` is not above zero.

    Examples
    --------
    >>> ConstantStep(0.5).step_s((3, 90, 0, 0.0, 0, 3))
    0.5
    """

    seconds: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(seconds=self.seconds)

    def step_s(self, load: Sequence[float]) -> float:
        """Seconds of a step, whatever is in it."""
        return self.seconds

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """A flat line."""
        return self.seconds, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineStep:
    """A base, and so much a token computed, a token attended to by decodes, and a unit of prefill work.

    Parameters
    ----------
    base_s : float
        Seconds of an empty step, > 0.
    per_token_s, per_context_token_s, per_work_s : float
        Seconds a computed token, a context token of the decodes, a token times mean context of the prefill,
        >= 0.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> AffineStep(base_s=0.01, per_token_s=0.001).step_s((2, 50, 8, 36.0, 8, 3))
    0.02
    """

    base_s: float
    per_token_s: float = 0.0
    per_context_token_s: float = 0.0
    per_work_s: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(base_s=self.base_s)
        checks.non_negative(
            per_token_s=self.per_token_s,
            per_context_token_s=self.per_context_token_s,
            per_work_s=self.per_work_s,
        )

    def step_s(self, load: Sequence[float]) -> float:
        """Seconds of a step with a load in the order of `StepLoad`."""
        n_decodes, context, prefill, work = load[:4]
        return (
            self.base_s
            + self.per_token_s * (n_decodes + prefill)
            + self.per_context_token_s * context
            + self.per_work_s * work
        )

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """Linear in the summed context."""
        return self.base_s + self.per_token_s * n_decodes, self.per_context_token_s
