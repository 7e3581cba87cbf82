"""A histogram of times with bins of equal ratio: percentiles of any number of them in fixed memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Histogram"]

_SMALLEST_S, _LARGEST_S = 1e-9, 1e9
_RATIO = 1.001
_N_BINS = math.ceil(math.log(_LARGEST_S / _SMALLEST_S) / math.log(_RATIO)) + 2


class Histogram:
    """Times in bins whose borders grow by 0.1 %: a percentile is off by 0.05 % at most, the mean is exact.

    Times below a nanosecond share the first bin and count as zero, times above 1e9 s the last.

    Examples
    --------
    >>> histogram = Histogram()
    >>> histogram.add(np.array([0.1, 0.2, 0.4]), np.array([1, 1, 2]))
    >>> round(histogram.mean_s, 3), round(histogram.percentile(50), 3), histogram.max_s
    (0.275, 0.3, 0.4)
    """

    __slots__ = ("_counts", "_sum_s", "max_s", "n")

    def __init__(self) -> None:
        self._counts = np.zeros(_N_BINS, dtype=np.int64)
        self._sum_s = 0.0
        self.n = 0
        self.max_s = 0.0

    def add(self, times_s: NDArray[np.float64], counts: NDArray[np.int64] | None = None) -> None:
        """Add times (k,), >= 0 s, each ``counts`` (k,) times; NaN is left out."""
        seen = ~np.isnan(times_s)
        times_s = times_s[seen]
        if not times_s.size:
            return
        weight = np.ones(len(times_s), dtype=np.int64) if counts is None else counts[seen]
        scaled = np.log(np.maximum(times_s, _SMALLEST_S) / _SMALLEST_S) / math.log(_RATIO)
        bins = np.clip(np.ceil(scaled).astype(np.int64), 0, _N_BINS - 1)
        self._counts += np.bincount(bins, weights=weight, minlength=_N_BINS).astype(np.int64)
        self._sum_s += float(np.sum(times_s * weight))
        self.n += int(weight.sum())
        self.max_s = max(self.max_s, float(times_s.max()))

    @property
    def mean_s(self) -> float | None:
        """Mean; None without times."""
        return self._sum_s / self.n if self.n else None

    def percentile(self, q: float) -> float | None:
        """Percentile, q in [0, 100], between the middles of bins; None without times."""
        if not self.n:
            return None
        last = np.cumsum(self._counts) - 1
        place = q / 100 * (self.n - 1)
        low, high = (
            self._middle(int(np.searchsorted(last, spot))) for spot in (math.floor(place), math.ceil(place))
        )
        return low + (high - low) * (place - math.floor(place))

    def _middle(self, index: int) -> float:
        return 0.0 if index == 0 else min(_SMALLEST_S * _RATIO ** (index - 0.5), self.max_s)
