"""Waiting jobs by the service that their clients got."""

from __future__ import annotations

import math
from bisect import insort

from sim.policies import LeastServed

from .arrival import Place, place_of
from .cohort import Cohort
from .job import FastJob
from .line import FOR_EVER

__all__ = ["FairLine", "knows_fair_order"]

_UNIT = 2.0**20  # charges in whole parts of this add up without rounding, in any order


def knows_fair_order(ordering: object) -> bool:
    """Whether `FairLine` stands for ``ordering``: sums of its charges must not depend on their order."""
    if type(ordering) is not LeastServed:
        return False
    charges = (ordering.prompt_weight, ordering.output_weight)
    shares = (1.0, *ordering.client_weights)
    return all((charge / share * _UNIT).is_integer() for charge in charges for share in shares)


class FairLine:
    """The order of `LeastServed`. Outputs of jobs that decode are implied by the steps of the cohort.

    Attributes
    ----------
    n : int
        Waiting jobs.
    """

    __slots__ = (
        "_charged", "_cohort", "_first", "_last_emptied", "_members", "_order", "_outputs", "_rest",
        "_served", "_since", "n",
    )  # fmt: skip

    is_fixed = False

    def __init__(self, ordering: LeastServed, cohort: Cohort) -> None:
        self._order, self._cohort = ordering, cohort
        cohort.ledger = self
        self.n = 0
        self._first: dict[int, list[Place]] = {}  # by client, only those with waiting jobs
        self._rest: dict[int, list[Place]] = {}  # the demoted ones
        self._served: dict[int, float] = {}  # without outputs
        self._outputs: dict[int, int] = {}  # of jobs that do not decode now
        self._members: dict[int, int] = {}  # that decode
        self._since: dict[int, int] = {}  # sum over them of the step at which each had no output
        self._charged: set[int] = set()
        self._last_emptied: int | None = None

    # ---- the line

    def join(self, job: FastJob) -> None:
        """A job that arrives: a client that had nothing waiting is lifted."""
        client = job.client
        if client not in self._served:
            self._served[client] = 0.0
            self._outputs[client] = self._members[client] = self._since[client] = 0
        if client not in self._first and client not in self._rest:
            busy = [self._counter(other) for other in {**self._first, **self._rest}]
            least = -math.inf
            if busy:
                least = min(busy)
            elif self._last_emptied is not None:
                least = self._counter(self._last_emptied)
            self._served[client] += max(least - self._counter(client), 0.0)
        self._insert(job)

    def rejoin(self, job: FastJob) -> None:
        """A job that was preempted."""
        job.is_waiting = True
        self._insert(job)

    def _insert(self, job: FastJob) -> None:
        self.n += 1
        insort((self._rest if job.is_demoted else self._first).setdefault(job.client, []), place_of(job))

    def _remove(self, job: FastJob) -> None:
        self.n -= 1
        queues = self._rest if job.is_demoted else self._first
        queues[job.client].remove(place_of(job))
        if not queues[job.client]:
            del queues[job.client]

    def jobs(self) -> list[FastJob]:
        """All waiting jobs."""
        queues = (*self._first.values(), *self._rest.values())
        return [place[2] for queue in queues for place in queue]

    def head(self) -> FastJob:
        """The first; there must be one."""
        heads = (queue[0] for queue in (self._first or self._rest).values())
        return min((self._counter(place[2].client), *place) for place in heads)[3]

    def foremost(self) -> FastJob:
        """The first by arrival; there must be one."""
        return min(queue[0] for queue in (self._first or self._rest).values())[2]

    def pop(self, *, is_admitted: bool = True) -> FastJob:
        """Take the first; it is let in, or turned away."""
        job = self.head()
        self.drop(job)
        if is_admitted and job.position not in self._charged:
            self._charged.add(job.position)
            charge = self._order.prompt_weight * job.prompt_tokens
            self._served[job.client] += charge / self._share(job.client)
        return job

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        self._remove(job)
        job.is_waiting = False
        if job.client not in self._first and job.client not in self._rest:
            self._last_emptied = job.client

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs behind all others for good."""
        for job in jobs:
            self._remove(job)
            job.is_demoted = True
            self._insert(job)

    def begin_pass(self) -> None:
        """Nothing is kept from one pass to the next."""

    def steady_steps(self) -> int:
        """Steps after which the first may be another one than now."""
        queues = self._first or self._rest
        if len(queues) < 2:
            return FOR_EVER
        own = self.head().client
        own_counter, own_rate = self._counter(own), self._rate(own)
        return min(self._steps_to_pass(other, own_counter, own_rate) for other in queues if other != own)

    def _steps_to_pass(self, other: int, own_counter: float, own_rate: float) -> int:
        faster = own_rate - self._rate(other)
        return FOR_EVER if faster <= 0 else max(math.ceil((self._counter(other) - own_counter) / faster), 1)

    # ---- the service

    def _share(self, client: int) -> float:
        weights = self._order.client_weights
        return weights[client] if client < len(weights) else 1.0

    def _rate(self, client: int) -> float:
        """What a step of the cohort adds."""
        return self._members[client] * self._order.output_weight / self._share(client)

    def _counter(self, client: int) -> float:
        decoded = self._members[client] * self._cohort.step - self._since[client]
        outputs = self._outputs[client] + decoded
        return self._served[client] + outputs * self._order.output_weight / self._share(client)

    def sampled(self, job: FastJob) -> None:
        """The token with which a prompt ends."""
        self._outputs[job.client] += 1

    def joined(self, job: FastJob) -> None:
        """A job decodes from the next step on: all its outputs are implied by that."""
        client = job.client
        job.ticket = self._cohort.step - job.n_outputs
        self._outputs[client] -= job.n_outputs
        self._members[client] += 1
        self._since[client] += job.ticket

    def left(self, job: FastJob) -> None:
        """It does not decode any more."""
        client = job.client
        self._outputs[client] += self._cohort.step - job.ticket
        self._members[client] -= 1
        self._since[client] -= job.ticket
