"""Values that an unknown can take, numbered: whole numbers, or numbers of six digits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Grid"]

_DIGITS = 900_000  # numbers of six digits in a decade
_FIRST = 100_000
_DECADES = 15
_MOST_WHOLE = 2**22


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All values in order, from index to value and back."""

    whole: bool
    most: int = _MOST_WHOLE

    def value(self, index: int) -> float:
        """The value of a number; a whole one is an int."""
        if self.whole:
            return index
        decade, digits = divmod(index, _DIGITS)
        return float(f"{digits + _FIRST}e{decade - 5}")

    def index(self, value: float) -> int:
        """Number of the value, rounded to six digits."""
        if self.whole:
            return max(round(value), 1)
        digits, _, decade = f"{value:.5e}".partition("e")
        return int(decade) * _DIGITS + int(digits.replace(".", "")) - _FIRST

    @property
    def ends(self) -> tuple[int, int]:
        """First and last index."""
        return (1, self.most) if self.whole else (-_DECADES * _DIGITS, _DECADES * _DIGITS)

    def further(self, index: int, *, up: bool) -> int | None:
        """A large step on, twice or ten times as far; None at the end."""
        low, high = self.ends
        if self.whole:
            found = 2 * index if up else index // 2
        else:
            found = index + (_DIGITS if up else -_DIGITS)
        return found if low <= found <= high else None
