"""The Azure LLM inference traces of 2023 and 2024: dates with 100 ns digits, in 2024 with ``+00:00``.

References
----------
.. [1] Azure Public Dataset, AzureLLMInferenceDataset2023 and 2024, CC-BY 4.0.
.. [2] Patel et al. (2024), "Splitwise: efficient generative LLM inference using phase splitting", ISCA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._numbers import WholeNumbers
from ._table import folded
from ._times import Dates
from .format import Place, TraceFormat, place_of

__all__ = ["FORMAT"]

_COLUMNS = {
    "arrival_s": "timestamp",
    "prompt_tokens": "contexttokens",
    "output_tokens": "generatedtokens",
}


def _fits(header: Sequence[str]) -> bool:
    return set(_COLUMNS.values()) <= {folded(name) for name in header}


def _places(header: Sequence[str]) -> Mapping[str, Place]:
    places = {}
    for field, name in _COLUMNS.items():
        index = place_of(header, [name])
        if index is not None:
            column = header[index]
            quantity = Dates(column) if field == "arrival_s" else WholeNumbers()
            places[field] = Place(index=index, column=column, quantity=quantity)
    return places


FORMAT = TraceFormat(
    name="azure", columns="TIMESTAMP, ContextTokens, GeneratedTokens", fits=_fits, places=_places
)
