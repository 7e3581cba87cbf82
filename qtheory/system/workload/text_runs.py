"""What prompts and outputs say: runs of tokens of numbered texts, request by request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from .block_hashes import BlockHashes

__all__ = ["TextRuns"]

Ints = NDArray[np.int64]
_PER_RUN, _PER_REQUEST = ("texts", "starts", "n_tokens"), ("output_texts", "output_starts")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextRuns:
    """Each prompt as runs of tokens of numbered texts: token k of text t is the same wherever it stands.

    What a prompt or an output has beyond its runs is its own and occurs nowhere else.

    Parameters
    ----------
    texts, starts, n_tokens : array of int
        Shape (m,), each >= 0: a run is tokens ``starts`` to ``starts + n_tokens - 1`` of a text. Those of the
        first request, then those of the second, and so on.
    offsets : array of int
        Shape (n+1,): request i has the runs ``offsets[i]`` to ``offsets[i+1] - 1``; from 0 to m.
    output_texts, output_starts : array of int
        Shape (n,): the output of request i is the tokens of this text from this one on; -1: its own.

    Raises
    ------
    ConfigError
        If the offsets do not divide the runs, shapes differ or a number is below zero.

    Examples
    --------
    >>> shared = TextRuns(
    ...     texts=[0, 7, 0], starts=[0, 0, 0], n_tokens=[100, 20, 100], offsets=[0, 2, 3],
    ...     output_texts=[7, -1], output_starts=[20, 0],
    ... )
    >>> len(shared), shared.prompt(0), shared.prompt(1)
    (2, [(0, 0, 100), (7, 0, 20)], [(0, 0, 100)])
    """

    texts: Ints
    starts: Ints
    n_tokens: Ints
    offsets: Ints
    output_texts: Ints
    output_starts: Ints

    def __post_init__(self) -> None:
        for name in (*_PER_RUN, "offsets", *_PER_REQUEST):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        m, ends = len(self.texts), self.offsets[[0, -1]].tolist() if self.offsets.size else None
        if ends != [0, m] or np.any(np.diff(self.offsets) < 0):
            raise ConfigError(f"offsets: must rise from 0 to {m}, the number of runs")
        for names, wanted in ((_PER_RUN, m), (_PER_REQUEST, len(self))):
            for name in names:
                column, least = getattr(self, name), -1 if name == "output_texts" else 0
                if column.shape != (wanted,) or np.any(column < least):
                    raise ConfigError(f"{name}: must be {wanted} numbers >= {least}")

    @classmethod
    def of_blocks(cls, hashes: BlockHashes) -> TextRuns:
        """Each block of a trace as a text of its own; outputs are unknown.

        Parameters
        ----------
        hashes : BlockHashes
            The last block of a prompt may be cut by the length of the prompt.
        """
        zeros, nowhere = np.zeros_like(hashes.ids), np.full(len(hashes), -1)
        return cls(
            texts=hashes.ids,
            starts=zeros,
            n_tokens=zeros + hashes.block_tokens,
            offsets=hashes.offsets,
            output_texts=nowhere,
            output_starts=np.zeros_like(nowhere),
        )

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.offsets) - 1

    def prompt(self, index: int) -> list[tuple[int, int, int]]:
        """Text, first token and number of tokens of each run of the prompt of the request at ``index``."""
        part = slice(int(self.offsets[index]), int(self.offsets[index + 1]))
        columns = (getattr(self, name)[part].tolist() for name in _PER_RUN)
        return list(zip(*columns, strict=True))

    def __getitem__(self, rows: slice | Ints) -> TextRuns:
        """Those of some requests, given by a slice or by their rows."""
        chosen = np.arange(len(self))[rows]
        counts = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        first = np.repeat(self.offsets[:-1][chosen] - offsets[:-1], counts)
        runs = first + np.arange(offsets[-1])
        columns = {name: getattr(self, name)[runs] for name in _PER_RUN}
        columns |= {name: getattr(self, name)[chosen] for name in _PER_REQUEST}
        return TextRuns(offsets=offsets, **columns)
