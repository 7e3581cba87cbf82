"""Latency and goodput, defined once: nothing else in this project computes them.

::

    sent ------ first scheduled ------ first token --- token --- token (last)
      |<------- queue ------->|                |<-ITL->|<-ITL->|
      |<----------------- TTFT ----------------->|
      |<------------------------- E2E ------------------------>|
                                TPOT = (E2E - TTFT) / (output tokens - 1)

A moment that never came is NaN in the columns and leaves a request out of the statistics of the quantity that
needs it; goodput counts every request that was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtheory.basics.errors import ConfigError

from .slo import Slo

__all__ = ["good", "percentile", "tpot_s", "weighted_percentiles"]

Floats = NDArray[np.float64]


def tpot_s(first_token_s: ArrayLike, finish_s: ArrayLike, output_tokens: ArrayLike) -> Floats:
    """Mean time per output token after the first, seconds; NaN for a one-token output, which has none.

    Parameters
    ----------
    first_token_s, finish_s : array_like of float, shape (n,)
        Moments of the first and last token, seconds.
    output_tokens : array_like of int, shape (n,)
        Tokens produced, >= 1.

    Returns
    -------
    array of float, shape (n,)

    Examples
    --------
    >>> tpot_s([1.0, 2.0], [3.0, 2.0], [5, 1]).tolist()
    [0.5, nan]
    """
    tokens = np.asarray(output_tokens)
    span_s = np.asarray(finish_s, dtype=float) - np.asarray(first_token_s, dtype=float)
    return np.where(tokens > 1, span_s / np.maximum(tokens - 1, 1), np.nan)


def good(
    slo: Slo, *, ttft_s: ArrayLike, tpot_s: ArrayLike, e2e_s: ArrayLike, finished: ArrayLike
) -> NDArray[np.bool_]:
    """Which requests were served to the end within every limit of ``slo`` (limits are inclusive).

    A one-token output has no TPOT (NaN) and meets that limit, as in the goodput of ``vllm bench serve``.

    Parameters
    ----------
    slo : Slo
        Limits of each request.
    ttft_s, tpot_s, e2e_s : array_like of float, shape (n,)
        Latencies, seconds; NaN where a moment never came.
    finished : array_like of bool, shape (n,)
        Whether the last token came.

    Returns
    -------
    array of bool, shape (n,)

    Examples
    --------
    >>> limits = Slo(ttft_s=1.0, tpot_s=0.5)
    >>> good(limits, ttft_s=[1.0, 0.2], tpot_s=[np.nan, 0.6], e2e_s=[1, 9], finished=[True, True]).tolist()
    [True, False]
    """
    served = np.asarray(finished, dtype=bool)
    for limit, value in ((slo.ttft_s, ttft_s), (slo.tpot_s, tpot_s), (slo.e2e_s, e2e_s)):
        if limit is not None:
            served = served & ~(np.asarray(value, dtype=float) > limit)
    return served


def _check_level(q: float) -> None:
    if not 0 <= q <= 100:
        raise ConfigError(f"q: {q} must lie in 0 .. 100, such as 99")


def percentile(values: ArrayLike, q: float) -> float | None:
    """Percentile with linear interpolation between order statistics; None without values.

    Parameters
    ----------
    values : array_like of float
        In any unit.
    q : float
        In [0, 100].

    Raises
    ------
    ConfigError
        If ``q`` is out of range.

    Examples
    --------
    >>> percentile([1.0, 0.5, 2.0], 99)
    1.98
    """
    _check_level(q)
    array = np.asarray(values, dtype=float)
    return float(np.percentile(array, q)) if array.size else None


def weighted_percentiles(values: ArrayLike, counts: ArrayLike, levels: Sequence[float]) -> list[float] | None:
    """`percentile` of a sample in which ``values[i]`` stands ``counts[i]`` times; None without values.

    Parameters
    ----------
    values : array_like of float, shape (k,)
        In any unit.
    counts : array_like of int, shape (k,)
        How often each stands in the sample, >= 0.
    levels : sequence of float
        Each in [0, 100].

    Returns
    -------
    list of float or None
        In the order of ``levels``.

    Raises
    ------
    ConfigError
        If the shapes differ, a count is negative or a level is out of range.

    Examples
    --------
    >>> weighted_percentiles([1.0, 3.0], [2, 1], [0, 75])
    [1.0, 2.0]
    """
    for q in levels:
        _check_level(q)
    array, weight = np.asarray(values, dtype=float), np.asarray(counts, dtype=np.int64)
    if array.shape != weight.shape:
        raise ConfigError(f"counts: shape {weight.shape}, but values have shape {array.shape}")
    if np.any(weight < 0):
        raise ConfigError(f"counts: {weight.min()} must be >= 0")
    total = int(weight.sum())
    if total == 0:
        return None
    order = np.argsort(array)
    array, last = array[order], np.cumsum(weight[order]) - 1  # (k,) place of its last copy in the full sample
    places = np.asarray(levels, dtype=float) / 100 * (total - 1)  # (m,)
    floors = np.floor(places)
    low, high = (array[np.searchsorted(last, spots)] for spots in (floors, np.ceil(places)))
    return [float(value) for value in low + (high - low) * (places - floors)]
