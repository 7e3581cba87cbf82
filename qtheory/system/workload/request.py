"""Requests, as columns: what clients send, known before anything is served."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

from .block_hashes import BlockHashes
from .text_runs import TextRuns

__all__ = ["Request", "Requests"]

_FLOATS = ("arrival_s", "predicted_output_tokens", "ttft_slo_s", "tpot_slo_s", "think_s")
_TEXTS = {"block_hashes": BlockHashes, "text_runs": TextRuns}
_MOST_TOKENS = 10**9
_RANGES: dict[str, tuple[float, float]] = {
    "arrival_s": (0.0, sys.float_info.max),
    "prompt_tokens": (1, _MOST_TOKENS),
    "output_tokens": (1, _MOST_TOKENS),
    "max_output_tokens": (1, _MOST_TOKENS),
    "predicted_output_tokens": (0.0, _MOST_TOKENS),
    "ttft_slo_s": (0.0, math.inf),
    "tpot_slo_s": (0.0, math.inf),
    "after": (-1, math.inf),
    "think_s": (0.0, 1e9),
}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Request(NamedTuple):
    """One row of `Requests`, with every default filled in.

    Attributes
    ----------
    position : int
        Row, from 0.
    arrival_s, ttft_slo_s : float
        Seconds after the start, and seconds after that by which its first token is due (infinite: no limit).
    prompt_tokens, output_tokens, max_output_tokens, predicted_output_tokens : int, int, int, float
        Lengths: of the prompt, of the output in truth, at most and as predicted.
    priority, client : int
        Smaller is more important; tenant number.
    tpot_slo_s : float
        Seconds per output token after the first at most (infinite: no limit).

    Examples
    --------
    >>> row = Requests(arrival_s=[0.5], prompt_tokens=[100], output_tokens=[5]).row(0)
    >>> row.max_output_tokens, row.ttft_slo_s
    (5, inf)
    """

    position: int
    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    max_output_tokens: int
    predicted_output_tokens: float
    priority: int
    client: int
    ttft_slo_s: float
    tpot_slo_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """Requests in order of arrival, one array a property, all of shape (n,).

    Parameters
    ----------
    arrival_s : array of float
        Seconds after the start, >= 0, non-decreasing.
    prompt_tokens, output_tokens : array of int
        Tokens of the prompt and tokens really produced, 1 .. 1e9.
    max_output_tokens : array of int, optional
        What the engine may assume of the output length, 1 .. 1e9 (default: ``output_tokens``).
    predicted_output_tokens : array of float, optional
        What a predictor says of the output length, 0 .. 1e9 (default: ``output_tokens``).
    priority : array of int, optional
        Smaller is more important (default 0).
    client : array of int, optional
        Tenant number (default 0).
    ttft_slo_s : array of float, optional
        First-token limit used by deadline schedulers, seconds after arrival, >= 0 (default: infinite).
    tpot_slo_s : array of float, optional
        Limit on the time per output token of requests that have their own, seconds, >= 0 (infinite: none).
        Where it is given, it and ``ttft_slo_s`` decide which requests are good.
    block_hashes : BlockHashes, optional
        Which prompts begin alike, where a trace says so (default: unknown).
    text_runs : TextRuns, optional
        What prompts and outputs have in common (default: nothing is known beyond ``block_hashes``).
    after : array of int, optional
        Row, above, of the request whose end this one waits for; -1: it waits for none (default). It is then
        sent ``think_s`` after that end, but not before ``arrival_s``.
    think_s : array of float, optional
        Seconds, 0 .. 1e9 (default 0).

    Raises
    ------
    ConfigError
        If a column is not a list of numbers, lengths differ, times are unsorted or not finite, or a value is
        out of its range.

    Examples
    --------
    >>> requests = Requests(arrival_s=[0.0, 1.5], prompt_tokens=[100, 20], output_tokens=[5, 1])
    >>> len(requests), requests.row(1).prompt_tokens
    (2, 20)
    """

    arrival_s: Floats
    prompt_tokens: Ints
    output_tokens: Ints
    max_output_tokens: Ints | None = None
    predicted_output_tokens: Floats | None = None
    priority: Ints | None = None
    client: Ints | None = None
    ttft_slo_s: Floats | None = None
    tpot_slo_s: Floats | None = None
    block_hashes: BlockHashes | None = None
    text_runs: TextRuns | None = None
    after: Ints | None = None
    think_s: Floats | None = None

    def __post_init__(self) -> None:
        n = len(_array("arrival_s", self.arrival_s))
        for field in fields(self):
            column = getattr(self, field.name)
            if column is None and field.default is None:
                continue
            if field.name in _TEXTS:
                _check_texts(field.name, column, n)
                continue
            array = _floats(field.name, column) if field.name in _FLOATS else _ints(field.name, column)
            if array.shape != (n,):
                raise ConfigError(f"{field.name}: shape {array.shape}, but there are {n} arrivals")
            _in_range(field.name, array)
            object.__setattr__(self, field.name, array)
        if np.any(np.diff(self.arrival_s) < 0):
            row = int(np.argmax(np.diff(self.arrival_s) < 0)) + 1
            raise ConfigError(f"arrival_s: row {row} is earlier than the row before it; sort by time")
        if self.after is not None and np.any(self.after >= np.arange(n)):
            row = int(np.argmax(self.after >= np.arange(n)))
            raise ConfigError(f"after: {self.after[row]} in row {row} must be a row above")

    def __len__(self) -> int:
        return len(self.arrival_s)

    def row(self, index: int) -> Request:
        """The request at ``index``, with defaults filled in."""
        output = int(self.output_tokens[index])

        def value(column: Floats | Ints | None, default: float) -> float:
            return default if column is None else float(column[index])

        return Request(
            position=index,
            arrival_s=float(self.arrival_s[index]),
            prompt_tokens=int(self.prompt_tokens[index]),
            output_tokens=output,
            max_output_tokens=int(value(self.max_output_tokens, output)),
            predicted_output_tokens=value(self.predicted_output_tokens, output),
            priority=int(value(self.priority, 0)),
            client=int(value(self.client, 0)),
            ttft_slo_s=value(self.ttft_slo_s, np.inf),
            tpot_slo_s=value(self.tpot_slo_s, np.inf),
        )

    def __iter__(self) -> Iterator[Request]:
        return (self.row(index) for index in range(len(self)))


def _check_texts(name: str, column: object, n: int) -> None:
    if not isinstance(column, BlockHashes | TextRuns) or type(column) is not _TEXTS[name]:
        raise ConfigError(f"{name}: {shown(column)} is not a {_TEXTS[name].__name__}")
    if len(column) != n:
        raise ConfigError(f"{name}: of {len(column)} requests, but there are {n} arrivals")


def _array(name: str, column: object) -> NDArray[Any]:
    """A column as an array of numbers of some kind."""
    try:
        array = np.asarray(column)
    except (ValueError, TypeError, OverflowError):  # rows of different lengths
        array = np.asarray(None)
    if array.ndim == 0 or (array.dtype.kind not in "iuf" and array.size):
        if array.dtype.kind == "O" and any(_is_huge(item) for item in array.ravel().tolist()):
            raise ConfigError(f"{name}: {shown(column)} holds a number that is too large for 64 bits")
        raise ConfigError(f"{name}: {shown(column)} is not a list of numbers, one a request")
    return array


def _is_huge(item: object) -> bool:
    return isinstance(item, int) and abs(item) > 2**63


def _floats(name: str, column: ArrayLike) -> Floats:
    array: Floats = _array(name, column).astype(np.float64)
    if np.any(np.isnan(array)):
        raise ConfigError(f"{name}: row {int(np.argmax(np.isnan(array)))} is not a number")
    return array


def _ints(name: str, column: ArrayLike) -> Ints:
    """Whole numbers; those given as floats are taken as long as nothing would be cut off."""
    array = _array(name, column)
    if array.dtype.kind == "f":
        broken = ~(np.isfinite(array) & (array == np.floor(array)))
        if np.any(broken):
            row = int(np.argmax(broken))
            raise ConfigError(f"{name}: {array.ravel()[row]:g} in row {row} must be a whole number")
    if array.dtype.kind in "uf" and np.any(np.abs(array.astype(np.float64)) >= 2.0**63):
        raise ConfigError(f"{name}: {shown(column)} holds a number that is too large for 64 bits")
    return array.astype(np.int64)


def _in_range(name: str, array: Floats | Ints) -> None:
    """Refuse what no request has, naming the first row that has it."""
    if not len(array) or name not in _RANGES:
        return
    least, most = _RANGES[name]
    bad = (array < least) | (array > most)
    if not np.any(bad):
        return
    row = int(np.argmax(bad))
    value = array[row]
    if name == "arrival_s" and value == math.inf:
        raise ConfigError(f"arrival_s: row {row} is not finite")
    if name == "arrival_s":
        raise ConfigError(f"arrival_s: {value:g} is before the start; times must be >= 0")
    limit = f">= {least:g}" if value < least else f"at most {most:,}"
    raise ConfigError(f"{name}: {shown(value.item())} in row {row} must be {limit}")
