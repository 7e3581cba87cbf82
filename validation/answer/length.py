"""How long the runs of a steady state have to be, planned from the runs so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sim.statistics import estimate_mean

from .point import Replication
from .steady import enough, judge, kept_values, warm_up_of
from .study import Study

__all__ = ["next_length"]

_GOAL = 400.0  # effectively independent requests, of all runs: 4 beyond a p99
_MARGIN = 1.25  # what is still missing comes out too low from runs that are too short
_LEAST_FACTOR, _MOST_FACTOR = 2.0, 8.0
_MOST = 1_000_000  # requests of a point
_STEP = 1_000


def next_length(replications: Sequence[Replication], study: Study) -> int | None:
    """Requests that each run should have instead; None where the runs are long enough or never will be.

    How long a run has to be follows from how long its requests hang together, which near capacity grows like
    :math:`(1 - \\rho)^{-2}` [1]_ and is measured here rather than guessed: TTFTs of all runs are to be worth
    400 independent ones, the warm-up is to end, and the runs are to tell whether the load is sustained [2]_.
    An overloaded point has no steady state to wait for.

    Parameters
    ----------
    replications : sequence of Replication
        Of one point, at least one.
    study : Study

    References
    ----------
    .. [1] Whitt (1989), "Planning queueing simulations", Management Science 35, 1341-1366.
    .. [2] Heidelberger and Welch (1981), "A spectral method for confidence interval generation and run length
       control in simulations", Communications of the ACM 24, 233-245 (runs that grow by a factor).
    """
    n_requests = replications[0].result.n_requests
    most = min(study.max_requests, _MOST) // len(replications)
    seen = judge(replications)
    if n_requests >= most or n_requests == 0 or seen.verdict == "overloaded":
        return None
    start = warm_up_of(replications)
    late = kept_values(replications, "ttft_s", start.n_cut)
    n_effective = estimate_mean(late).n_effective if enough(late) else 1.0
    worth = max(n_effective or 1.0, 1.0)
    if worth >= _GOAL and seen.verdict == "stable" and not start.too_short:
        return None
    factor = min(max(_MARGIN * _GOAL / worth, _LEAST_FACTOR), _MOST_FACTOR)
    return min(math.ceil(n_requests * factor / _STEP) * _STEP, most)
