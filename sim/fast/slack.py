"""When the next token of the decodes is due, without a walk over them."""

from __future__ import annotations

import math
from heapq import heappop, heappush

from qtheory.system.workload.request import Requests
from sim.policies import Policy

from .cohort import Cohort
from .job import FastJob

__all__ = ["Slack", "slack_of"]


class Slack:
    """The ledger of a cohort that knows which of its members may wait least.

    All members get a token a step, so that those with one limit stay in order: there is a heap for each
    limit, whose keys count from step 0 of the cohort. Entries of jobs that left go when they surface.
    """

    __slots__ = ("_cohort", "_heaps", "_keys", "_limits_s")

    def __init__(self, requests: Requests, cohort: Cohort) -> None:
        self._limits_s = requests.tpot_slo_s
        self._cohort = cohort
        cohort.ledger = self
        self._heaps: dict[float, list[tuple[float, FastJob]]] = {}
        self._keys: dict[FastJob, float] = {}

    def sampled(self, job: FastJob) -> None:
        """Of no meaning here."""

    def joined(self, job: FastJob) -> None:
        """A job decodes from the next step on."""
        limit_s = math.inf if self._limits_s is None else float(self._limits_s[job.position])
        if limit_s < math.inf:
            self._keys[job] = key = job.first_token_s + (job.n_outputs - self._cohort.step) * limit_s
            heappush(self._heaps.setdefault(limit_s, []), (key, job))

    def left(self, job: FastJob) -> None:
        """It does not decode any more."""
        self._keys.pop(job, None)

    def due_s(self) -> float:
        """When the first of the next tokens is due; infinite if none has a limit."""
        first_s, step, keys = math.inf, self._cohort.step, self._keys
        for limit_s, heap in self._heaps.items():
            while heap and keys.get(heap[0][1]) != heap[0][0]:
                heappop(heap)
            if heap:
                first_s = min(first_s, heap[0][0] + step * limit_s)
        return first_s


def slack_of(requests: Requests, policy: Policy, cohort: Cohort) -> Slack | None:
    """The ledger of ``cohort`` if ``policy`` asks when tokens are due."""
    return Slack(requests, cohort) if policy.chunk_size == "slack" else None
