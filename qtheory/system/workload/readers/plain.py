"""Tables with one request a row, its arrival in seconds or as a date; commas, semicolons or tabs between.

Case does not matter; a space or a dash in a name is an underscore. Other columns are not read.

========================== ==========================================================================
quantity                   accepted column names
========================== ==========================================================================
arrival                    arrival, arrival_time, arrived_at, timestamp, time: seconds or a date;
                           with the ending ``_s``, ``_ms``, ``_us`` or ``_ns``: numbers in that unit
prompt tokens              prompt_tokens, prompt_len, prompt_length, input_tokens, input_len,
                           input_length, context_tokens, contexttokens, request_tokens,
                           prefill_tokens, num_prefill_tokens, num_prompt_tokens, num_input_tokens
output tokens              output_tokens, output_len, output_length, generated_tokens,
                           generatedtokens, completion_tokens, response_tokens, decode_tokens,
                           num_decode_tokens, num_output_tokens, num_generated_tokens
most output tokens         max_output_tokens, max_tokens
predicted output tokens    predicted_output_tokens, predicted_tokens
priority                   priority (smaller is more important)
client                     client, client_id, tenant, tenant_id, user, user_id (a number or a name)
first-token limit          ttft_slo_s, ttft_slo_ms (empty: none)
========================== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from ._numbers import MOST_TOKENS, Column, Names, Numbers, WholeNumbers
from ._table import folded
from ._times import Dates, Times, looks_like_a_date
from .format import Place, Quantity, TraceFormat, place_of

__all__ = ["FORMAT", "NAMES", "find_places", "has_columns"]

_STEMS = ("arrival", "arrival_time", "arrived_at", "timestamp", "time")
_UNITS = {"_s": 1, "_ms": 1_000, "_us": 1_000_000, "_ns": 1_000_000_000}
_ARRIVAL = (*_STEMS, *(stem + unit for unit in _UNITS for stem in _STEMS))

NAMES: Mapping[str, Sequence[str]] = {
    "arrival_s": _ARRIVAL,
    "prompt_tokens": (
        *("prompt_tokens", "prompt_len", "prompt_length", "input_tokens", "input_len", "input_length"),
        *("context_tokens", "contexttokens", "request_tokens", "prefill_tokens", "num_prefill_tokens"),
        *("num_prompt_tokens", "num_input_tokens"),
    ),
    "output_tokens": (
        *("output_tokens", "output_len", "output_length", "generated_tokens", "generatedtokens"),
        *("completion_tokens", "response_tokens", "decode_tokens", "num_decode_tokens"),
        *("num_output_tokens", "num_generated_tokens"),
    ),
    "max_output_tokens": ("max_output_tokens", "max_tokens"),
    "predicted_output_tokens": ("predicted_output_tokens", "predicted_tokens"),
    "priority": ("priority",),
    "client": ("client", "client_id", "tenant", "tenant_id", "user", "user_id"),
    "ttft_slo_s": ("ttft_slo_s", "ttft_slo_ms"),
}
_LARGEST_PRIORITY = 1_000_000_000
_LONGEST_SLO_S = 1e6


class _TimesOrDates:
    """Seconds or dates, whichever the first row has."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._chosen: Times | Dates | None = None

    def take(self, texts: Sequence[str]) -> Column:
        if self._chosen is None:
            self._chosen = Dates(self._column) if looks_like_a_date(texts[0]) else Times(self._column, 1)
        return self._chosen.take(texts)

    def finish(self, values: Column) -> Column:
        return values if self._chosen is None else self._chosen.finish(values)


def _quantity(field: str, column: str) -> Quantity:
    name = folded(column)
    if field == "arrival_s":
        unit = name[name.rfind("_") :]
        return Times(column, _UNITS[unit]) if unit in _UNITS else _TimesOrDates(column)
    if field == "predicted_output_tokens":
        return Numbers(most=MOST_TOKENS)
    if field == "priority":
        return WholeNumbers(least=-_LARGEST_PRIORITY, most=_LARGEST_PRIORITY)
    if field == "client":
        return Names()
    if field == "ttft_slo_s":
        return Numbers(most=_LONGEST_SLO_S, divisor=1_000.0 if name.endswith("_ms") else 1.0, empty=np.inf)
    return WholeNumbers()


def has_columns(header: Sequence[str], *, fields: Iterable[str]) -> bool:
    """Whether every one of some fields of `Requests` has a column among the names."""
    names = {folded(name) for name in header}
    return all(names.intersection(NAMES[field]) for field in fields)


def find_places(header: Sequence[str], *, fields: Iterable[str]) -> Mapping[str, Place]:
    """Columns of those fields of `Requests` that are there.

    Raises
    ------
    ConfigError
        If two columns qualify for one field.
    """
    places = {}
    for field in fields:
        index = place_of(header, NAMES[field])
        if index is not None:
            column = header[index]
            places[field] = Place(index=index, column=column, quantity=_quantity(field, column))
    return places


FORMAT = TraceFormat(
    name="csv",
    columns="arrival_s, prompt_tokens, output_tokens and more",
    fits=partial(has_columns, fields=("arrival_s", "prompt_tokens", "output_tokens")),
    places=partial(find_places, fields=tuple(NAMES)),
)
