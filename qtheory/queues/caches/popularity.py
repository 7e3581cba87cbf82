"""Caches under independent requests: hit rates of LRU, FIFO and random replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.numerics.roots import bracketed_root

__all__ = ["CacheResult", "PopularityCache", "zipf"]

Floats = NDArray[np.float64]

_POLICIES = ("lru", "fifo", "random")


def zipf(*, n_items: int, exponent: float) -> Floats:
    """Popularities proportional to 1 / rank^exponent, sum 1.

    Parameters
    ----------
    n_items : int
        How many, >= 1.
    exponent : float
        >= 0; 0 makes all equal.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> zipf(n_items=3, exponent=1.0).round(4).tolist()
    [0.5455, 0.2727, 0.1818]
    """
    checks.integer(n_items=n_items)
    checks.non_negative(exponent=exponent)
    weight = np.arange(1.0, n_items + 1) ** -exponent
    return np.asarray(weight / weight.sum(), dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CacheResult:
    """What a cache holds and hits.

    Parameters
    ----------
    exactness : str
        ``approximation``: good for many items, exact in the limit.
    hit_frac : float
        Share of the requests that find their item.
    hit_frac_by_item : array
        The same for each item; also the share of time that it is in the cache.
    characteristic_time : float
        How long an item stays without a request (LRU) or in all (FIFO, random), in mean intervals between
        requests.

    Examples
    --------
    >>> answer = PopularityCache(popularity=[4.0, 2.0, 1.0, 1.0], capacity=2).solve()
    >>> answer.hit_frac_by_item.round(3).tolist()
    [0.796, 0.548, 0.328, 0.328]
    """

    exactness: str
    hit_frac: float
    hit_frac_by_item: Floats
    characteristic_time: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PopularityCache:
    r"""Approximation of hit rates under independent requests, by a characteristic time (Che [1]_, [2]_).

    LRU: an item stays T since its last request, :math:`\sum_is_i(1-e^{-q_iT})=C`, and
    :math:`h_i=1-e^{-q_iT}`. FIFO and random replacement: it stays T since it came,
    :math:`h_i=q_iT/(1+q_iT)` with :math:`\sum_is_ih_i=C` [3]_.

    Independent requests have no sense of time: traces with reuse that is near in time hit more in small
    caches and less in large ones. `WorkingSetCache` covers them.

    Parameters
    ----------
    popularity : sequence of float
        Relative request rates :math:`q_i`, > 0, of any sum.
    capacity : float
        What the cache holds, in the unit of ``size``, > 0.
    size : sequence of float, optional
        Sizes :math:`s_i` of the items, > 0; default 1 each.
    policy : str
        ``lru``, ``fifo`` or ``random``.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Fagin (1977), "Asymptotic miss ratios over independent references", J. Comput. Syst. Sci. 14,
       222-250.
    .. [2] Che, Tung, Wang (2002), "Hierarchical web caching systems: modeling, design and experimental
       results", IEEE JSAC 20, 1305-1314.
    .. [3] Fricker, Robert, Roberts (2012), "A versatile and accurate approximation for LRU cache
       performance", 24th International Teletraffic Congress.

    Examples
    --------
    >>> cache = PopularityCache(popularity=zipf(n_items=1000, exponent=0.9), capacity=100)
    >>> round(cache.solve().hit_frac, 4)
    0.4755
    """

    popularity: Sequence[float] | Floats
    capacity: float
    size: Sequence[float] | Floats | None = None
    policy: str = "lru"

    def __post_init__(self) -> None:
        checks.positive(capacity=self.capacity)
        checks.one_of("policy", self.policy, _POLICIES)
        popularity = _positive("popularity", self.popularity)
        size = np.ones(len(popularity)) if self.size is None else _positive("size", self.size)
        if len(size) != len(popularity):
            raise ConfigError(f"size: {len(size)} given for {len(popularity)} items")
        object.__setattr__(self, "popularity", popularity / popularity.sum())
        object.__setattr__(self, "size", size)

    def solve(self) -> CacheResult:
        """The hit rates."""
        q, size = np.asarray(self.popularity, dtype=float), np.asarray(self.size, dtype=float)
        if self.capacity >= size.sum():
            return CacheResult(
                exactness="exact",
                hit_frac=1.0,
                hit_frac_by_item=np.ones(len(q)),
                characteristic_time=float("inf"),
            )

        def held(time: float) -> Floats:
            x = q * time
            return np.asarray(-np.expm1(-x) if self.policy == "lru" else x / (1.0 + x), dtype=float)

        def excess(log_time: Floats, which: NDArray[np.intp]) -> Floats:
            return np.array([float(size @ held(float(np.exp(x)))) - self.capacity for x in log_time])

        low = float(np.log(self.capacity / float(size @ q)))  # nothing is held longer than if all fitted
        high = low + 1.0
        while float(excess(np.array([high]), np.zeros(1, dtype=np.intp))[0]) < 0:
            high += 1.0
        time = float(np.exp(bracketed_root(excess, low - 1e-9, high, rtol=1e-15)))
        hits = held(time)
        return CacheResult(
            exactness="approximation",
            hit_frac=float(q @ hits),
            hit_frac_by_item=hits,
            characteristic_time=time,
        )


def _positive(name: str, values: Sequence[float] | Floats) -> Floats:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not array.size:
        raise ConfigError(f"{name}: give a list of one or more numbers")
    if np.any(~((array > 0) & np.isfinite(array))):
        bad = array[~((array > 0) & np.isfinite(array))][0]
        raise ConfigError(f"{name}: {bad:g} must be a finite number > 0")
    return array
