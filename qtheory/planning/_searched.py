"""A tier's goodput curve, asked where its knee is."""

from __future__ import annotations

import math

from qtheory.basics.errors import ConfigError

from .search import Search
from .theory import Theory

__all__ = ["KNEE_POINTS", "KNEE_RTOL", "searched"]

KNEE_RTOL = 3e-3
KNEE_POINTS = {"closed": 6, "numeric": 8}
_BEND = 0.999
"""Of the limit of a scheduler that serves a part beyond it."""


def searched(theory: Theory, goodput_frac: float) -> tuple[Search, float | None]:
    """The curve as far as it is known then, and the knee: the largest rate with that share good."""
    guide = theory.closed.curve
    if not guide:
        theory.closed.at(0.5 * theory.limit_rps)  # says why
        raise ConfigError(f"scheduler: {theory.scheduler} has no prediction at any rate; simulate it")
    search = Search(
        theory.good,
        guide=([point.rate_rps for point in guide], [point.goodput_frac for point in guide]),
        limit_rps=theory.limit_rps if theory.has_limit else math.inf,
    )
    if theory.tier == "numeric" and not theory.has_limit:  # formulas may end before the chain does
        search.reach(goodput_frac)
        first, bend_rps = search.crossing(goodput_frac, most=0), _BEND * theory.limit_rps
        shed = [point.shed_frac for point in guide if point.rate_rps <= bend_rps]
        if first is not None and first > bend_rps and shed and not shed[-1]:
            search.at(bend_rps)  # who is turned away from the limit on bends the curve there
    found = search.crossing(goodput_frac, rtol=KNEE_RTOL, most=KNEE_POINTS[theory.tier])
    if theory.tier == "closed" or theory.has_limit:
        theory.check_covers(found)
    if not search.n_asked:  # never good enough, says the guide; the tier itself is asked where it is best
        best = max(guide, key=lambda point: point.goodput_frac)
        search.at(best.rate_rps)
        found = search.crossing(goodput_frac, rtol=KNEE_RTOL, most=KNEE_POINTS[theory.tier])
    return search, found
