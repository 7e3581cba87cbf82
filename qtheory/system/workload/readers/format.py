"""What a trace format is: how it is told from others, and in which columns its quantities stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.block_hashes import BlockHashes

from ._table import folded

__all__ = ["Place", "Quantity", "TraceFormat", "place_of"]


class Quantity(Protocol):
    """How the texts of a column become an array: some rows at a time, in order; then all of them."""

    def take(self, texts: Sequence[str], /) -> NDArray[np.int64] | NDArray[np.float64]:
        """Values of the next rows, or a fault at the first text that cannot be taken."""

    def finish(
        self, values: NDArray[np.int64] | NDArray[np.float64], /
    ) -> NDArray[np.int64] | NDArray[np.float64] | BlockHashes:
        """From the values of all rows to what `Requests` holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The column of a quantity.

    Parameters
    ----------
    index : int
        Position, from 0.
    column : str
        Name as written in the file.
    quantity : Quantity
        How its texts are read.
    """

    index: int
    column: str
    quantity: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFormat:
    """A format of files with one request a row, told from its column names.

    Parameters
    ----------
    name : str
        Short name.
    columns : str
        Its column names, for messages.
    fits : callable (list of str) -> bool
        Whether a line of column names is of this format.
    places : callable (list of str) -> dict
        From fields of `Requests` to columns: ``prompt_tokens`` and ``output_tokens`` always, ``arrival_s``
        unless the format has no times.

    Examples
    --------
    >>> from qtheory.system.workload.readers import azure
    >>> azure.FORMAT.fits(["TIMESTAMP", "ContextTokens", "GeneratedTokens"])
    True
    """

    name: str
    columns: str
    fits: Callable[[Sequence[str]], bool]
    places: Callable[[Sequence[str]], Mapping[str, Place]]


def place_of(header: Sequence[str], accepted: Iterable[str]) -> int | None:
    """Position of the only column whose name is among ``accepted``; None if there is no such column.

    Raises
    ------
    ConfigError
        If two columns qualify.

    Examples
    --------
    >>> place_of(["time_s", "Input tokens"], ["prompt_tokens", "input_tokens"])
    1
    """
    names = set(accepted)
    found = [index for index, name in enumerate(header) if folded(name) in names]
    if len(found) > 1:
        both = " and ".join(f"{header[index]!r} (column {index + 1})" for index in found[:2])
        raise ConfigError(f"{both} mean the same; keep one of them")
    return found[0] if found else None
