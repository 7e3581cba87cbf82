"""Files of token lengths without times, one request a row; the names of `plain` for the two columns."""

from __future__ import annotations

from functools import partial

from .format import TraceFormat
from .plain import find_places, has_columns

__all__ = ["FORMAT"]

_FIELDS = ("prompt_tokens", "output_tokens")

FORMAT = TraceFormat(
    name="lengths",
    columns="input_tokens, output_tokens",
    fits=partial(has_columns, fields=_FIELDS),
    places=partial(find_places, fields=_FIELDS),
)
