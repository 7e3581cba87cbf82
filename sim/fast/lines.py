"""Which line stands for an order of the waiting queue."""

from __future__ import annotations

from typing import cast

from sim.job import JobView, moment
from sim.policies import DynamicOrdering, Fcfs, LeastServed, LongestPrefix, Ordering, Policy, Unskipped
from sim.replica import Replica

from .cohort import Cohort
from .fair_line import FairLine, knows_fair_order
from .line import KeyedLine, Line, PlainLine
from .prefix_line import knows_prefix_order

__all__ = ["knows_order", "line_of"]


class _ByArrival:
    """What an order by cached prefix comes to without a cache."""

    def key(self, job: JobView) -> tuple[float, ...]:
        """Arrival and row."""
        return moment(job.arrival_s), job.position


def knows_order(policy: Policy, replica: Replica) -> bool:
    """Whether a line stands for the ordering of ``policy``."""
    ordering = policy.ordering
    if not isinstance(ordering, DynamicOrdering):
        return True
    if replica.prefix_cache:
        return knows_prefix_order(ordering, replica.block_tokens) or knows_fair_order(ordering)
    if isinstance(ordering, Unskipped) and policy.shed.action != "demote":
        ordering = ordering.inner  # in order of arrival nobody is overtaken
    return type(ordering) is LongestPrefix or knows_fair_order(ordering)


def line_of(policy: Policy, cohort: Cohort) -> Line:
    """An empty line for ``policy``, for all orders but those that look into a cache."""
    ordering = policy.ordering
    if isinstance(ordering, LeastServed):
        return FairLine(ordering, cohort)
    if isinstance(ordering, LongestPrefix | Unskipped):
        return KeyedLine(_ByArrival())
    if isinstance(ordering, Fcfs) and policy.shed.action == "none":
        return PlainLine()
    return KeyedLine(cast(Ordering, ordering))
