"""The law of the number present at a batch server: from the numbers at service starts, over time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qtheory.numerics.markov import poisson_pmf

from ._counts import count_rows, reach_each
from ._launch import Launch
from ._starts import ServiceStarts

__all__ = ["number_pmf", "unlimited_number_pmf"]

Floats = NDArray[np.float64]

_FIRST = 63


def number_pmf(starts: ServiceStarts, launch: Launch) -> Callable[[int], float]:
    r"""P(n present), over time, as a function of n.

    A service that starts with x present spends :math:`P(A(S)>j)/\lambda` seconds with j more, on average;
    so the time with n present in a cycle is :math:`\sum_x\pi_xP(A(S_x)>n-x)/\lambda` and that of an idle
    server with n.
    """
    known = np.empty(0)
    far = 4 * (starts.first_lumped + starts.max_batch) + 1000  # beyond, as the numbers at starts

    def pmf(n: int) -> float:
        nonlocal known
        if n < 0:
            return 0.0
        if n > far and starts.ratio > 0:
            return pmf(far) * starts.ratio ** (n - far)
        if n >= known.size:
            known = _listed(starts, launch, max(_FIRST, 2 * n))
        return float(known[n])

    return pmf


def _listed(starts: ServiceStarts, launch: Launch, last: int) -> Floats:
    """P(n present), n = 0..last."""
    b, rate = starts.max_batch, starts.rate_rps
    rows = count_rows(starts.laws, rate, last)  # (b, last + 1)
    beyond = reach_each(starts.laws, rate, np.full(b, last + 1.0))
    above = np.hstack([np.cumsum(rows[:, :0:-1], axis=1)[:, ::-1], np.zeros((b, 1))]) + beyond[:, None]
    present = starts.present(max(last, 1))
    found = np.zeros(last + 1)
    for x in range(1, min(b, last + 1)):
        found[x:] += present[x - 1] * above[x - 1, : last + 1 - x]
    if last >= b:
        found[b:] += np.convolve(present[b - 1 : last], above[-1, : last + 1 - b])[: last + 1 - b]
    found /= rate
    found[: len(starts.ended)] += starts.ended @ launch.spent_s
    return np.asarray(found / starts.mean_cycle_s)


def unlimited_number_pmf(
    batch: Floats, service_s: Floats, rate_rps: float, nobody: float
) -> Callable[[int], float]:
    """The same for constant services of batches without limit, P(batch of k + 1) given."""
    size = np.arange(1, len(batch) + 1)
    mean = rate_rps * service_s
    flow = float(batch @ size)  # requests of a cycle
    known = np.empty(0)

    def listed(last: int) -> Floats:
        found = np.zeros(last + 1)
        found[0] = nobody
        j = np.arange(last + 1)
        for x in size[: max(last, 0)].tolist():
            row = poisson_pmf(j[: last + 1 - x], mean[x - 1])
            found[x:] += batch[x - 1] * np.maximum(1.0 - np.cumsum(row), 0.0)
        return found / flow

    def pmf(n: int) -> float:
        nonlocal known
        if n < 0:
            return 0.0
        if n >= known.size:
            known = listed(max(_FIRST, 2 * n))
        return float(known[n])

    return pmf
