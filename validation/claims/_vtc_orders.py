"""Whose turn it is: the orders that the virtual token counter was published beside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sim.job import JobView
from sim.policies import Fcfs, LeastServed
from sim.policies.pieces import DynamicOrdering, Ledger, Ordering

__all__ = ["Charged", "order_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged(LeastServed):
    """Least counter first, with two things that may be otherwise.

    ``lifts``: who comes back from idleness starts from the least of those who kept waiting; without it what
    was saved up meanwhile is used up first (LCF). ``foresees``: the whole output is charged at admission.
    """

    lifts: bool = True
    foresees: bool = False

    def open_ledger(self) -> Ledger:
        """All counters at zero."""
        return _Book(self)


class _Book:
    def __init__(self, order: Charged) -> None:
        self._order = order
        self._served: dict[int, float] = {}
        self._waiting: Counter[int] = Counter()

    def arrived(self, job: JobView) -> None:
        own = self._served.setdefault(job.client, 0.0)
        busy = [self._served[client] for client, n in self._waiting.items() if n]
        if self._order.lifts and busy and not self._waiting[job.client]:
            self._served[job.client] = max(own, min(busy))
        self.returned(job)

    def returned(self, job: JobView) -> None:
        self._waiting[job.client] += 1

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        self._waiting[job.client] -= 1
        if is_admitted:
            order = self._order
            outputs = order.output_weight * job.predicted_output_tokens if order.foresees else 0.0
            self._served[job.client] += order.prompt_weight * job.prompt_tokens + outputs

    def sampled(self, job: JobView) -> None:
        if not self._order.foresees:
            self._served[job.client] += self._order.output_weight

    def counters(self) -> dict[int, float]:
        return dict(self._served)


_ORDERS: dict[str, Any] = {
    "FCFS": Fcfs(),
    "LShare": Fcfs(),
    "VTC": LeastServed(),
    "VTC_oracle": Charged(foresees=True),
    "LCF": Charged(lifts=False),
}


def order_of(policy: str) -> Ordering | DynamicOrdering:
    """The order of a published policy."""
    found: Ordering | DynamicOrdering = _ORDERS[policy]
    return found
