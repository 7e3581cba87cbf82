"""Which line stands for an order of the waiting queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sim.job import JobView, moment
from sim.policies import (
    DepthFirst,
    DynamicOrdering,
    Fcfs,
    Joining,
    LeastServed,
    LeastSlack,
    LongestPrefix,
    Ordering,
    Policy,
    Unskipped,
)
from sim.replica import Replica

from .cache import Cache
from .cohort import Cohort
from .depth_line import DepthLine
from .fair_line import FairLine, knows_fair_order
from .joining_line import JoiningLine
from .line import KeyedLine, Line, PlainLine
from .longest_line import LongestLine
from .prefix_line import PrefixLine
from .slack_line import CachedSlackLine, SlackLine

__all__ = ["by_prefix", "knows_order", "line_of"]


class _ByArrival:
    """What an order by cached prefix comes to without a cache."""

    def key(self, job: JobView) -> tuple[float, ...]:
        """Arrival and row."""
        return moment(job.arrival_s), job.position


def knows_order(policy: Policy, replica: Replica) -> bool:
    """Whether a line stands for the ordering of ``policy``."""
    ordering = policy.ordering
    if not isinstance(ordering, DynamicOrdering) or type(ordering) in (LeastSlack, Joining):
        return True
    if replica.prefix_cache:
        return _knows_prefix_order(ordering, replica.block_tokens) or knows_fair_order(ordering)
    if isinstance(ordering, Unskipped) and policy.shed.action != "demote":
        ordering = ordering.inner  # in order of arrival nobody is overtaken
    return type(ordering) in (LongestPrefix, DepthFirst) or knows_fair_order(ordering)


def _knows_prefix_order(ordering: object, block_tokens: int) -> bool:
    """Whether a line stands for an order by what is in memory: blocks must tell whether enough is shared."""
    inner = ordering.inner if isinstance(ordering, Unskipped) else ordering
    if type(inner) is LongestPrefix:
        return inner.sharing_tokens % block_tokens == 0
    return type(inner) is DepthFirst


def line_of(policy: Policy, cohort: Cohort, alone_s: Callable[[int], float]) -> Line:
    """An empty line for ``policy``, for all orders but those that look into a cache.

    ``alone_s`` tells how long so many tokens take alone.
    """
    ordering = policy.ordering
    if isinstance(ordering, LeastSlack):
        return SlackLine(alone_s)
    if isinstance(ordering, Joining):
        return JoiningLine()
    if isinstance(ordering, LeastServed):
        return FairLine(ordering, cohort)
    if isinstance(ordering, LongestPrefix | DepthFirst | Unskipped):
        return KeyedLine(_ByArrival())
    if isinstance(ordering, Fcfs) and policy.shed.action == "none":
        return PlainLine()
    return KeyedLine(cast(Ordering, ordering))


def by_prefix(
    policy: Policy, cache: Cache, block_tokens: int, alone_s: Callable[[int, int], float]
) -> PrefixLine | None:
    """An empty line in an order that looks into ``cache``; None if ``policy`` has another order.

    ``alone_s`` tells how long so many tokens take alone after so many cached ones.
    """
    if isinstance(policy.ordering, LeastSlack):
        return CachedSlackLine(cache, block_tokens=block_tokens, alone_s=alone_s)
    guarded = policy.ordering if isinstance(policy.ordering, Unskipped) else None
    ordering, max_skip = (guarded.inner, guarded.max_skip) if guarded else (policy.ordering, 0)
    if isinstance(ordering, LongestPrefix):
        return LongestLine(ordering, cache, block_tokens=block_tokens, max_skip=max_skip)
    if isinstance(ordering, DepthFirst):
        return DepthLine(cache, block_tokens=block_tokens, max_skip=max_skip)
    return None
