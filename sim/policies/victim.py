"""Who is preempted when memory runs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from sim.job import JobView, moment

__all__ = ["FewestOutput", "FirstAdmitted", "LastAdmitted", "LowestPriority"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True)
class LastAdmitted:
    """The tail of the running list; it may be the one that asks.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> rows = Requests(arrival_s=[0, 1], prompt_tokens=[30, 20], output_tokens=[9, 9], priority=[5, 0])
    >>> LastAdmitted().choose([Job.of(row, row.arrival_s) for row in rows]).position
    1
    """

    whole_batch: ClassVar[bool] = False

    def choose(self, running: Sequence[J]) -> J:
        """The last."""
        return running[-1]


@dataclass(frozen=True, slots=True)
class FirstAdmitted:
    """The head of the running list: who came first loses most. No engine's default; a switch of some.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> rows = Requests(arrival_s=[0, 1], prompt_tokens=[30, 20], output_tokens=[9, 9])
    >>> FirstAdmitted().choose([Job.of(row, row.arrival_s) for row in rows]).position
    0
    """

    whole_batch: ClassVar[bool] = False

    def choose(self, running: Sequence[J]) -> J:
        """The first."""
        return running[0]


@dataclass(frozen=True, slots=True)
class LowestPriority:
    """The largest priority value, then the latest arrival, wherever it stands in the running list.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> rows = Requests(arrival_s=[0, 1], prompt_tokens=[30, 20], output_tokens=[9, 9], priority=[5, 0])
    >>> LowestPriority().choose([Job.of(row, row.arrival_s) for row in rows]).position
    0
    """

    whole_batch: ClassVar[bool] = False

    def choose(self, running: Sequence[J]) -> J:
        """The least important."""
        return max(running, key=lambda job: (job.priority, moment(job.arrival_s), job.position))


@dataclass(frozen=True, slots=True)
class FewestOutput:
    """The fewest output tokens, then the longer prompt, then the later arrival.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> rows = Requests(arrival_s=[0, 1], prompt_tokens=[30, 20], output_tokens=[9, 9], priority=[5, 0])
    >>> FewestOutput().choose([Job.of(row, row.arrival_s) for row in rows]).position
    0
    """

    whole_batch: ClassVar[bool] = True

    def choose(self, running: Sequence[J]) -> J:
        """The least advanced."""
        return min(
            running,
            key=lambda job: (job.n_outputs, -job.prompt_tokens, -moment(job.arrival_s), -job.position),
        )
