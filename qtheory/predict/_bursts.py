"""How bursty arrivals are within a time: what a batch of the same variability would hold."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from qtheory.system.workload import GammaArrivals, MmppArrivals, OpenArrivals

__all__ = ["burstiness_within"]

_MOST = 4000


def burstiness_within(arrivals: OpenArrivals, rate_rps: float, window_s: float) -> float:
    """Index of dispersion of batches as large as what comes within a window of an arrival.

    In a long time it is that of the arrivals. For gamma gaps the mean number that follows an arrival within
    t is the renewal function, the sum of P(n gaps <= t); what it has beyond rate times t is the rest of the
    batch.
    """
    if isinstance(arrivals, MmppArrivals):
        return arrivals.dispersion(rate_rps, window_s)
    whole = arrivals.dispersion(rate_rps)
    if not isinstance(arrivals, GammaArrivals) or arrivals.scv <= 1:
        return whole
    shape = 1 / arrivals.scv
    n = np.arange(1, _MOST)
    expected = rate_rps * window_s
    if expected > _MOST * shape / 4:
        return whole
    excess = float(gammainc(n * shape, expected * shape).sum()) - expected
    return 1 + 2 * min(max(excess, 0.0), (whole - 1) / 2)
