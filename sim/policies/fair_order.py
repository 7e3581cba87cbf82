"""Order by service received, client by client."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from qtheory.basics import checks
from sim.job import JobView, moment
from sim.plan import View

from .pieces import Ledger

__all__ = ["LeastServed"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastServed:
    """The client with the smallest counter of weighted tokens is next, with its oldest request [1]_.

    Parameters
    ----------
    prompt_weight : float
        Charge of a prompt token, at the first admission, >= 0.
    output_weight : float
        Charge of an output token, when it is produced, >= 0.
    client_weights : tuple of float
        Shares of the clients 0, 1, ..., > 0: their charges are divided by them. Those not listed have 1.

    Raises
    ------
    ConfigError
        If a weight is negative, or that of a client not above zero.

    References
    ----------
    .. [1] Sheng et al. (2024), "Fairness in serving large language models", OSDI 24 (virtual token counter).

    Examples
    --------
    >>> LeastServed().output_weight
    2.0
    """

    prompt_weight: float = 1.0
    output_weight: float = 2.0
    client_weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        checks.non_negative(prompt_weight=self.prompt_weight, output_weight=self.output_weight)
        for client, weight in enumerate(self.client_weights):
            checks.positive(**{f"client_weights[{client}]": weight})

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """Heads of the clients' queues; an admission moves a counter and so the next choice."""
        queues: dict[int, deque[J]] = {}
        for job in waiting:
            queues.setdefault(job.client, deque()).append(job)
        while queues:
            counters = ledger.counters()
            heads = (queue[0] for queue in queues.values())
            job = min(heads, key=lambda head: (counters[head.client], moment(head.arrival_s), head.position))
            queues[job.client].popleft()
            if not queues[job.client]:
                del queues[job.client]
            yield job

    def open_ledger(self) -> Ledger:
        """All counters at zero."""
        return _Counters(self)


class _Counters:
    """Counters of the clients; who comes back from idleness is lifted to those who kept waiting."""

    def __init__(self, order: LeastServed) -> None:
        self._order = order
        self._served: dict[int, float] = {}
        self._n_waiting: dict[int, int] = {}
        self._charged: set[int] = set()
        self._last_emptied: int | None = None

    def arrived(self, job: JobView) -> None:
        """Lift the client if it had nothing waiting."""
        client = job.client
        own = self._served.setdefault(client, 0.0)
        if not self._n_waiting.get(client):
            busy = [self._served[other] for other, n in self._n_waiting.items() if n]
            if busy:
                own = max(own, min(busy))
            elif self._last_emptied is not None:
                own = max(own, self._served[self._last_emptied])
            self._served[client] = own
        self.returned(job)

    def returned(self, job: JobView) -> None:
        """One more waits."""
        self._n_waiting[job.client] = self._n_waiting.get(job.client, 0) + 1

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        """One less waits; the prompt is charged once."""
        self._n_waiting[job.client] -= 1
        if not self._n_waiting[job.client]:
            self._last_emptied = job.client
        if is_admitted and job.position not in self._charged:
            self._charged.add(job.position)
            self._charge(job.client, self._order.prompt_weight * job.prompt_tokens)

    def sampled(self, job: JobView) -> None:
        """A token is charged."""
        self._charge(job.client, self._order.output_weight)

    def _charge(self, client: int, tokens: float) -> None:
        weights = self._order.client_weights
        self._served[client] += tokens / weights[client] if client < len(weights) else tokens

    def counters(self) -> dict[int, float]:
        """Weighted tokens by client."""
        return dict(self._served)
