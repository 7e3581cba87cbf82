"""Percentiles of the number present, from its probabilities one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtheory.basics.errors import ConvergenceError

if TYPE_CHECKING:
    from qtheory.queues.result import QueueResult

__all__ = ["number_percentiles"]

_MOST = 4096


def number_percentiles(result: QueueResult, levels: Sequence[float]) -> list[float]:
    """Smallest n with P(N <= n) >= each level in (0, 1); at most 4,096 are tried."""
    pmf, n = result.number_pmf, -1
    if pmf is None:
        raise ConvergenceError("the law of the number is not there")
    found: dict[float, float] = {}
    total = 0.0
    for level in sorted(levels):
        while total < level * (1 - 1e-14):
            n += 1
            if n > _MOST or (result.mean_number or 0.0) > _MOST:
                raise ConvergenceError(f"more than {_MOST:,} customers would have to be counted one by one")
            total += pmf(n)
        found[level] = float(n)
    return [found[level] for level in levels]
