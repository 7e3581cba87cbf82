"""Caches under requests with a memory: hit rate from how long it takes until an item is asked for again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["WorkingSetCache", "WorkingSetResult", "reuse_times", "stack_distances"]

Floats = NDArray[np.float64]


def reuse_times(items: Sequence[Hashable], times_s: Sequence[float] | Floats | None = None) -> Floats:
    """Time from each request to the next one for the same item, infinite for the last.

    Parameters
    ----------
    items : sequence
        The item of each request, in order.
    times_s : sequence of float, optional
        When, seconds, not falling; default 0, 1, 2, ...

    Raises
    ------
    ConfigError
        If the lengths differ or the times fall.

    Examples
    --------
    >>> reuse_times(["a", "b", "a", "a"]).tolist()
    [2.0, inf, 1.0, inf]
    """
    when = np.arange(float(len(items))) if times_s is None else np.asarray(times_s, dtype=float)
    if when.shape != (len(items),):
        raise ConfigError(f"times_s: {when.size} given for {len(items)} requests")
    if np.any(np.diff(when) < 0) or not np.all(np.isfinite(when)):
        raise ConfigError("times_s: must be finite and must not fall")
    found = np.full(len(items), np.inf)
    last: dict[Hashable, int] = {}
    for i, item in enumerate(items):
        if item in last:
            found[last[item]] = when[i] - when[last[item]]
        last[item] = i
    return found


def stack_distances(items: Sequence[Hashable]) -> NDArray[np.int64]:
    """Exact LRU: distinct items since the last request for the same item, itself included; 0 for a first one.

    A cache of C items hits the requests with a distance from 1 to C (Mattson et al. 1970). The counts are
    kept in a binary indexed tree, so that n requests take n log n steps.

    Parameters
    ----------
    items : sequence
        The item of each request, in order.

    Examples
    --------
    >>> stack_distances(["a", "b", "a", "a", "b"]).tolist()
    [0, 0, 2, 1, 2]
    """
    size = len(items)
    tree = [0] * (size + 1)
    last: dict[Hashable, int] = {}
    found = np.zeros(size, dtype=np.int64)

    def add(place: int, amount: int) -> None:
        while place <= size:
            tree[place] += amount
            place += place & -place

    def upto(place: int) -> int:
        total = 0
        while place:
            total += tree[place]
            place &= place - 1
        return total

    for i, item in enumerate(items, start=1):
        before = last.get(item)
        if before is not None:
            found[i - 1] = len(last) - upto(before - 1)
            add(before, -1)
        add(i, 1)
        last[item] = i
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSetResult:
    """Hit rate of a cache.

    Parameters
    ----------
    exactness : str
        ``approximation``.
    hit_frac : float
        Share of the requests that find their item.
    window_s : float
        How long an item stays in the cache without a request, seconds.

    Examples
    --------
    >>> cache = WorkingSetCache(rate_rps=2.0, reuse_s=[1.0, 1.0, 3.0, float("inf")], capacity=3.0)
    >>> answer = cache.solve()
    >>> answer.hit_frac, answer.window_s
    (0.5, 2.0)
    """

    exactness: str
    hit_frac: float
    window_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkingSetCache:
    r"""Approximation of the LRU hit rate from reuse times (Denning's working set [1]_).

    The working set of a window T holds
    :math:`w(T)=\int_0^Tr\,P(\text{reuse}>t)\,dt=r\,E[\min(\text{reuse},T)]` items; LRU of size C keeps about
    the window with :math:`w(T)=C` and hits :math:`P(\text{reuse}\le T)`. Nothing is assumed about
    independence of requests.

    Parameters
    ----------
    rate_rps : float
        Requests per second r, > 0.
    reuse_s : sequence of float
        Time from a request to the next one for the same item, > 0, infinite if there is none (`reuse_times`).
    capacity : float
        Items that the cache holds, > 0.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Denning, Schwartz (1972), "Properties of the working-set model", Comm. ACM 15, 191-198.

    Examples
    --------
    >>> cache = WorkingSetCache(rate_rps=1.0, reuse_s=[1.0, 2.0, float("inf"), float("inf")], capacity=2.5)
    >>> answer = cache.solve()
    >>> answer.hit_frac, answer.window_s
    (0.5, 3.5)
    """

    rate_rps: float
    reuse_s: Sequence[float] | Floats
    capacity: float

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, capacity=self.capacity)
        reuse = np.asarray(self.reuse_s, dtype=float)
        if reuse.ndim != 1 or not reuse.size or np.any(~(reuse >= 0)):
            raise ConfigError("reuse_s: give one or more times >= 0 (infinite: never again)")
        object.__setattr__(self, "reuse_s", np.sort(reuse))

    def solve(self) -> WorkingSetResult:
        """Window and hit rate; an infinite window if everything fits."""
        reuse = np.asarray(self.reuse_s, dtype=float)
        n = len(reuse)
        finite = reuse[np.isfinite(reuse)]
        wanted = self.capacity / self.rate_rps * n  # sum of min(reuse, T)
        upto = np.append(0.0, np.cumsum(finite))  # the k shortest
        longer = n - np.arange(len(finite) + 1)
        filled = upto[:-1] + longer[:-1] * finite  # the sum at T = reuse[k]
        k = int(np.searchsorted(filled, wanted, side="right"))
        if k == n:
            window_s = float("inf")
        else:
            window_s = float((wanted - upto[k]) / longer[k])
        return WorkingSetResult(exactness="approximation", hit_frac=k / n, window_s=window_s)
