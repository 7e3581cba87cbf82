"""Columns of text into arrays of numbers: all at once, and one by one only to find the fault."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._table import FaultError

__all__ = ["MOST_TOKENS", "Names", "Numbers", "WholeNumbers", "only_digits", "what_is_wrong"]

MOST_TOKENS = 10_000_000
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_MOST_DIGITS = 18  # what surely fits into 64 bits

Column = NDArray[np.int64] | NDArray[np.float64]


def only_digits(texts: Sequence[str]) -> bool:
    """Whether every text consists of at least one and at most 18 of the digits 0 to 9."""
    joined = "".join(texts)
    if not (joined.isascii() and joined.isdecimal()):
        return False
    lengths = set(map(len, texts))
    return 0 not in lengths and max(lengths) <= _MOST_DIGITS


def what_is_wrong(text: str) -> str:
    """Why a text is not a number, or an empty string if it is one.

    Examples
    --------
    >>> what_is_wrong("1.5"), what_is_wrong("1,5"), what_is_wrong("NaN")
    ('', 'has a decimal comma, write a point', 'is not a number')
    """
    word = text.strip()
    if _NUMBER.fullmatch(word):
        return "" if math.isfinite(float(word)) else "is not a finite number"
    if not word:
        return "is empty"
    return "has a decimal comma, write a point" if _COMMA.fullmatch(word) else "is not a number"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumbers:
    """Whole numbers in ``least`` .. ``most``; ``374.0`` is one, ``374.5`` is not."""

    least: int = 1
    most: int = MOST_TOKENS

    def take(self, texts: Sequence[str]) -> Column:
        """The numbers, or a `FaultError` at the first text that is none of them."""
        if only_digits(texts):
            values = np.fromiter(map(int, texts), np.int64, len(texts))
            if values.min() >= self.least and values.max() <= self.most:
                return values
        return np.array([self._one(row, text) for row, text in enumerate(texts)], dtype=np.int64)

    def finish(self, values: Column) -> Column:
        """Unchanged: nothing is left to do when all rows are there."""
        return values

    def _one(self, row: int, text: str) -> int:
        allowed = f"give a whole number in {self.least:,} .. {self.most:,}"
        if why := what_is_wrong(text):
            raise FaultError(row, f"{why}; {allowed}")
        value = float(text)
        if not value.is_integer():
            raise FaultError(row, f"is not whole; {allowed}")
        if not self.least <= value <= self.most:
            raise FaultError(row, f"is too {'small' if value < self.least else 'large'}; {allowed}")
        return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Numbers in (0, ``most``] after division by ``divisor``, with ``zero`` 0 too; ``empty``, if set, stands
    where none is."""

    most: float
    divisor: float = 1.0
    empty: float | None = None
    zero: bool = False

    def take(self, texts: Sequence[str]) -> Column:
        """The numbers, or a `FaultError` at the first text that is none of them."""
        return np.array([self._one(row, text) for row, text in enumerate(texts)], dtype=np.float64)

    def finish(self, values: Column) -> Column:
        """Unchanged: nothing is left to do when all rows are there."""
        return values

    def _one(self, row: int, text: str) -> float:
        if self.empty is not None and text.strip().lower() in ("", "inf"):
            return self.empty
        least = "in 0 .." if self.zero else "above 0 and at most"
        allowed = f"give a number {least} {self.most * self.divisor:,g}"
        if why := what_is_wrong(text):
            raise FaultError(row, f"{why}; {allowed}")
        value = float(text) / self.divisor
        if not 0 <= value <= self.most or (value == 0 and not self.zero):
            raise FaultError(row, f"is too {'small' if value <= 0 else 'large'}; {allowed}")
        return value


class Names:
    """Numbers or names of clients; names are numbered in order of appearance.

    Examples
    --------
    >>> clients = Names()
    >>> clients.finish(clients.take(["ann", "bob", "ann"])).tolist()
    [0, 1, 0]
    >>> clients = Names()
    >>> clients.finish(clients.take(["7", "3", "7"])).tolist()
    [7, 3, 7]
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def take(self, texts: Sequence[str]) -> Column:
        """Place of each name in the order of appearance, or a `FaultError` at the first empty one."""
        seen = self._seen
        words = [text.strip() for text in texts]
        if "" in words:
            raise FaultError(words.index(""), "is empty; give the number or the name of the client")
        return np.array([seen.setdefault(word, len(seen)) for word in words], dtype=np.int64)

    def finish(self, values: Column) -> Column:
        """The numbers as they were written where all are whole numbers, else the places."""
        if not only_digits(list(self._seen)):
            return values
        return np.array([int(word) for word in self._seen], dtype=np.int64)[values.astype(np.int64)]
