"""Service that clients got by a moment, and how far apart that of two who both wait can come."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest_difference", "service"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def service(at_s: Floats, first_token_s: Floats, finish_s: Floats, tokens: Floats) -> Floats:
    """Weighted tokens (k,) by the moments (k,): those of a request come evenly from first token to end.

    Examples
    --------
    >>> service(np.array([0.0, 2.0, 9.0]), np.array([1.0]), np.array([5.0]), np.array([8.0])).tolist()
    [0.0, 2.0, 8.0]
    """
    began = np.isfinite(first_token_s)
    first, tokens = first_token_s[began], tokens[began]
    end = np.where(np.isfinite(finish_s[began]), finish_s[began], np.inf)
    rate = tokens / np.maximum(end - first, 1e-9)  # none of those that never end
    order_first, order_end = np.argsort(first), np.argsort(end)
    return _ramps(at_s, first[order_first], rate[order_first]) - _ramps(at_s, end[order_end], rate[order_end])


def _ramps(at_s: Floats, begin_s: Floats, rate: Floats) -> Floats:
    """Sum of ``rate * (at - begin)`` over those that have begun."""
    finite = np.isfinite(begin_s)
    begin_s, rate = begin_s[finite], rate[finite]
    n = np.searchsorted(begin_s, at_s, side="right")
    of_rate, of_product = (np.concatenate([[0.0], np.cumsum(each)]) for each in (rate, rate * begin_s))
    return np.asarray(of_rate[n] * at_s - of_product[n])


def largest_difference(
    client: Ints,
    arrival_s: Floats,
    first_token_s: Floats,
    finish_s: Floats,
    *,
    tokens: Floats,
    until_s: float,
) -> float:
    """Largest ``|W_i - W_j|`` of what two clients got in any interval throughout which both had a queue."""
    moments = np.concatenate([arrival_s, first_token_s, finish_s])
    at_s = np.unique(moments[np.isfinite(moments) & (moments <= until_s)])
    got, waits = {}, {}
    for each in np.unique(client):
        own = client == each
        got[each] = service(at_s, first_token_s[own], finish_s[own], tokens[own])
        began = np.sort(np.where(np.isfinite(first_token_s[own]), first_token_s[own], np.inf))
        came = np.searchsorted(np.sort(arrival_s[own]), at_s, side="right")
        waits[each] = came > np.searchsorted(began, at_s, side="right")
    return max(
        (_range_within(got[i] - got[j], waits[i] & waits[j]) for i, j in combinations(got, 2)), default=0.0
    )


def _range_within(difference: Floats, both: NDArray[np.bool_]) -> float:
    """Largest range of a curve inside a stretch where both wait; a stretch ends with the next event."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], both, [False]]).astype(np.int8)))
    found = 0.0
    for begin, end in edges.reshape(-1, 2):
        part = difference[begin : end + 1]
        found = max(found, float(np.max(part) - np.min(part)))
    return found
