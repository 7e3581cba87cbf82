"""Clusters whose router looks at nothing: each replica has its part of the stream and runs by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload import TextRuns
from qtheory.system.workload.request import Requests
from sim import engine
from sim.kvcache import Contents
from sim.kvcache.texts import TextContents
from sim.record import Records

from .member import Member

__all__ = ["rows_of", "simulate_divided"]


class _Part(Contents):
    """Some rows of others."""

    def __init__(self, whole: Contents, rows: Sequence[int]) -> None:
        super().__init__(prompts=[None] * len(rows), outputs=[None] * len(rows))
        self._whole, self._rows = whole, rows

    def salt(self, position: int) -> str:
        """As in the whole."""
        return self._whole.salt(self._rows[position])

    def tokens(self, position: int, *, prompt_tokens: int, n_outputs: int) -> list[int]:
        """As in the whole."""
        return self._whole.tokens(self._rows[position], prompt_tokens=prompt_tokens, n_outputs=n_outputs)


def rows_of(requests: Requests, rows: NDArray[np.int64]) -> Requests:
    """Some of the requests; what they have in common is carried over as runs of tokens."""
    columns = {
        item.name: column[rows]
        for item in fields(requests)
        if item.name != "block_hashes" and (column := getattr(requests, item.name)) is not None
    }
    if requests.block_hashes is not None and requests.text_runs is None:
        columns["text_runs"] = TextRuns.of_blocks(requests.block_hashes)[rows]
    return replace(requests, block_hashes=None, **columns)


def simulate_divided(
    requests: Requests,
    members: Sequence[Member],
    replica: NDArray[np.int64],
    *,
    until_s: float,
    contents: Contents | None,
) -> list[Records]:
    """The records of each member, with rows for its own requests only."""
    parts = []
    for index, member in enumerate(members):
        rows = np.flatnonzero(replica == index)
        own = rows_of(requests, rows)
        part = _part(contents, rows) if contents is not None else None
        parts.append(engine.simulate(own, *member, until_s=until_s, contents=part))
    return parts


def _part(contents: Contents, rows: NDArray[np.int64]) -> Contents:
    if isinstance(contents, TextContents):
        return TextContents(contents.runs[rows])
    return _Part(contents, rows.tolist())
