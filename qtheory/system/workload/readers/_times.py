"""Columns of times into seconds after the first one: numbers in a unit, or dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._numbers import Column, only_digits, what_is_wrong
from ._table import FaultError

__all__ = ["Dates", "Times", "looks_like_a_date"]

# Years 1900 to 2199: what 64-bit nanoseconds can hold; numpy wraps round silently outside.
_DATE = re.compile(
    r"\s*((?:19|20|21)\d\d-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)"
    r"( ?Z| ?UTC| ?[+-](?:[01]\d|2[0-3]):?[0-5]\d)?\s*",
    re.ASCII,
)
_LATEST_S = 1e11  # the year 5138, counted from 1970: such seconds are milliseconds
_LARGEST = 2**63 - 1
_SLOW_GAP_S = 60.0
_FEWEST_FOR_DOUBT = 10


def looks_like_a_date(text: str) -> bool:
    """Whether a text is of the form ``2023-11-16 18:15:46`` with an optional fraction and time zone."""
    return _DATE.fullmatch(text) is not None


def _in_order(values: Column, last: float | None, row_order: str) -> None:
    """Raise a `FaultError` at the first time that is before the one above it."""
    if last is not None and values[0] < last:
        raise FaultError(0, row_order)
    late = values[1:] < values[:-1]
    if late.any():
        raise FaultError(int(np.argmax(late)) + 1, row_order)


class Times:
    """Times as numbers, ``divisor`` to a second, from any start.

    Parameters
    ----------
    column : str
        Name of the column as written, for messages.
    divisor : int
        1 for seconds, 1,000 for milliseconds and so on.
    """

    def __init__(self, column: str, divisor: int) -> None:
        self._column = column
        self._divisor = divisor
        self._last: float | None = None
        self._all_whole = True

    def take(self, texts: Sequence[str]) -> Column:
        """The numbers as written, or a `FaultError` at the first that is not a time or is out of order."""
        values: Column
        if only_digits(texts):
            values = np.fromiter(map(int, texts), np.int64, len(texts))
            too_late = values >= min(int(_LATEST_S) * self._divisor, _LARGEST)
        else:
            self._all_whole = self._all_whole and not any("." in text for text in texts)
            values = np.array([self._one(row, text) for row, text in enumerate(texts)], dtype=np.float64)
            too_late = values >= _LATEST_S * self._divisor
        if too_late.any():
            raise FaultError(int(np.argmax(too_late)), self._wrong_unit())
        _in_order(values, self._last, f"is before the row above it; sort the rows by {self._column}")
        self._last = float(values[-1])
        return values

    def finish(self, values: Column) -> Column:
        """Seconds after the first; a `FaultError` if they are so far apart that the unit cannot be right."""
        seconds: NDArray[np.float64] = (values - values[0]) / self._divisor
        gap_s = seconds[-1] / max(1, len(seconds) - 1)
        if (
            self._divisor == 1
            and self._all_whole
            and len(values) >= _FEWEST_FOR_DOUBT
            and gap_s >= _SLOW_GAP_S
        ):
            raise FaultError(
                -1,
                f"whole numbers, on average {gap_s:,.0f} apart, look like milliseconds; then name the column "
                "arrival_ms; if they are seconds, write them with a decimal point",
            )
        return seconds

    def _one(self, row: int, text: str) -> float:
        allowed = "give a number of seconds >= 0"
        if self._divisor > 1:
            allowed = f"give a number >= 0 ({self._divisor:,} are a second)"
        if why := what_is_wrong(text):
            raise FaultError(row, f"{why}; {allowed}")
        if (value := float(text)) < 0:
            raise FaultError(row, f"is before the start; {allowed}")
        return value

    def _wrong_unit(self) -> str:
        if self._divisor == 1:
            return "cannot be seconds; name the column arrival_ms, arrival_us or arrival_ns by its unit"
        return f"is too large for a time of which {self._divisor:,} are a second; name the column by its unit"


class Dates:
    """Times as dates, ``2023-11-16 18:15:46.6805900`` or with ``T`` and a zone; without a zone they are UTC.

    Parameters
    ----------
    column : str
        Name of the column as written, for messages.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._last: float | None = None

    def take(self, texts: Sequence[str]) -> Column:
        """Nanoseconds since 1970, or a `FaultError` at the first that is not a date or is out of order."""
        found = [_DATE.fullmatch(text) for text in texts]
        if None in found:
            raise FaultError(found.index(None), _ALLOWED)
        parts = [match.groups() for match in found if match is not None]
        stamps = [f"{day}T{clock}" for day, clock, _ in parts]
        zones = {zone for _, _, zone in parts}
        values = _nanoseconds(stamps)
        if zones - {None, "Z", "UTC", "+00:00", "+0000"}:
            shift = {zone: _zone_ns(zone) for zone in zones}
            values = values - np.array([shift[zone] for _, _, zone in parts], dtype=np.int64)
        order = f"is before the row above it; sort the rows by {self._column}"
        _in_order(values, self._last, order)
        self._last = int(values[-1])
        return values

    def finish(self, values: Column) -> Column:
        """Seconds after the first."""
        seconds: NDArray[np.float64] = (values - values[0]) / 1_000_000_000
        return seconds


_ALLOWED = (
    "is not a date and time; write it as 2023-11-16 18:15:46.68059, with +00:00 or another zone if need be"
)


def _nanoseconds(stamps: Sequence[str]) -> NDArray[np.int64]:
    try:
        return np.array(stamps, dtype="datetime64[ns]").astype(np.int64)
    except ValueError:
        for row, stamp in enumerate(stamps):
            try:
                np.datetime64(stamp, "ns")
            except ValueError:
                raise FaultError(row, _ALLOWED) from None
        raise


def _zone_ns(zone: str | None) -> int:
    zone = (zone or "Z").strip()
    if zone in ("Z", "UTC"):
        return 0
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return (-1 if zone[0] == "-" else 1) * minutes * 60_000_000_000
