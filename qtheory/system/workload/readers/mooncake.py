"""Mooncake traces: JSON line by line, times in milliseconds, ids of the blocks of each prompt.

Times come in ticks of about three seconds (`spread_ticks`).

References
----------
.. [1] Qin et al. (2025), "Mooncake: trading more storage for less computation", FAST '25, and the traces
   published with it, github.com/kvcache-ai/Mooncake, Apache-2.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._block_ids import BlockIds
from ._numbers import WholeNumbers
from ._table import folded
from ._times import Times
from .format import Place, Quantity, TraceFormat, place_of
from .plain import find_places

__all__ = ["FORMAT"]

_COLUMNS = {
    "arrival_s": "timestamp",
    "prompt_tokens": "input_length",
    "output_tokens": "output_length",
    "block_hashes": "hash_ids",
}
_ALSO = ("max_output_tokens", "predicted_output_tokens", "priority", "client", "ttft_slo_s")


def _fits(header: Sequence[str]) -> bool:
    return set(_COLUMNS.values()) - {"hash_ids"} <= {folded(name) for name in header}


def _quantity(field: str, column: str) -> Quantity:
    if field == "arrival_s":
        return Times(column, 1_000)
    return BlockIds() if field == "block_hashes" else WholeNumbers()


def _places(header: Sequence[str]) -> Mapping[str, Place]:
    places = dict(find_places(header, fields=_ALSO))
    for field, name in _COLUMNS.items():
        index = place_of(header, [name])
        if index is not None:
            places[field] = Place(index=index, column=header[index], quantity=_quantity(field, header[index]))
    return places


FORMAT = TraceFormat(
    name="mooncake",
    columns="JSON lines with timestamp, input_length, output_length, hash_ids",
    fits=_fits,
    places=_places,
)
