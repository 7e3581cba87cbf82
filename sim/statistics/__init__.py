"""Statistics of simulation output: warm-up, intervals, comparisons, stopping, stability, seeds.

Everything here works on plain arrays and knows nothing of the engine. Where a function takes ``runs``, that
is one series (per request, in order of arrival) or one series a replication.
"""

from __future__ import annotations

from .interval import Interval
from .mean import estimate_mean, replication_interval
from .paired import Comparison, compare_all, paired_difference
from .percentile import estimate_percentile
from .ratio import estimate_ratio
from .seeds import seeds
from .sequential import Decision, Sequential
from .share import estimate_share
from .share_of_runs import estimate_share_of_runs
from .stability import Stability, stability
from .warmup import WarmUp, common_warm_up, mser5, warm_up

__all__ = [
    "Comparison",
    "Decision",
    "Interval",
    "Sequential",
    "Stability",
    "WarmUp",
    "common_warm_up",
    "compare_all",
    "estimate_mean",
    "estimate_percentile",
    "estimate_ratio",
    "estimate_share",
    "estimate_share_of_runs",
    "mser5",
    "paired_difference",
    "replication_interval",
    "seeds",
    "stability",
    "warm_up",
]
