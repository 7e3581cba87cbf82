"""Orders of the waiting queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from qtheory.basics import checks
from sim.job import SAME_MOMENT_S, JobView, moment
from sim.plan import View

from .pieces import Ledger, Ordering

__all__ = [
    "Aged",
    "EarliestDeadline",
    "Fcfs",
    "LastCome",
    "LongestOutput",
    "Priority",
    "Ranked",
    "ShortestOutput",
]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True)
class Fcfs:
    """First come, first served; preempted jobs go to the head.

    Examples
    --------
    >>> Fcfs().key(None)
    ()
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """The same for all."""
        return ()


@dataclass(frozen=True, slots=True)
class Priority:
    """Smaller priority value first, then earlier arrival.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[2.0], prompt_tokens=[30], output_tokens=[9], ttft_slo_s=[1.5]).row(0)
    >>> Priority().key(Job.of(row, 2.0))
    (0, 2.0, 0)
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """Priority, arrival, row."""
        return job.priority, moment(job.arrival_s), job.position


@dataclass(frozen=True, slots=True)
class LastCome:
    """Latest arrival first: the order that treats those who wait worst, to hold others against.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[2.0], prompt_tokens=[30], output_tokens=[9], ttft_slo_s=[1.5]).row(0)
    >>> LastCome().key(Job.of(row, 2.0))
    (-2.0, 0)
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """Arrival and row, backwards."""
        return -moment(job.arrival_s), -job.position


@dataclass(frozen=True, slots=True)
class LongestOutput:
    """Longest possible output first, then earlier arrival.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[2.0], prompt_tokens=[30], output_tokens=[9], ttft_slo_s=[1.5]).row(0)
    >>> LongestOutput().key(Job.of(row, 2.0))
    (-9, 2.0, 0)
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """Longest output, backwards; arrival, row."""
        return -job.max_output_tokens, moment(job.arrival_s), job.position


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Any order by key, within priorities.

    Parameters
    ----------
    inner : Ordering
        Order of those with the same priority.
    small_first : bool
        Whether smaller priority values are more important.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[2.0], prompt_tokens=[30], output_tokens=[9], priority=[4]).row(0)
    >>> Ranked(inner=LongestOutput(), small_first=False).key(Job.of(row, 2.0))
    (-4, -9, 2.0, 0)
    """

    inner: Ordering
    small_first: bool = True

    def key(self, job: JobView) -> tuple[float, ...]:
        """Priority, then the inner key."""
        return job.priority if self.small_first else -job.priority, *self.inner.key(job)


@dataclass(frozen=True, slots=True)
class ShortestOutput:
    """Smallest predicted output first, then earlier arrival.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[2.0], prompt_tokens=[30], output_tokens=[9], ttft_slo_s=[1.5]).row(0)
    >>> ShortestOutput().key(Job.of(row, 2.0))
    (9, 2.0, 0)
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """Predicted output, arrival, row."""
        return job.predicted_output_tokens, moment(job.arrival_s), job.position


@dataclass(frozen=True, slots=True)
class EarliestDeadline:
    """Earliest first-token deadline first, then earlier arrival.

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.job import Job
    >>> row = Requests(arrival_s=[2.0], prompt_tokens=[30], output_tokens=[9], ttft_slo_s=[1.5]).row(0)
    >>> EarliestDeadline().key(Job.of(row, 2.0))
    (3.5, 2.0, 0)
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """Deadline, arrival, row."""
        return moment(job.deadline_s), moment(job.arrival_s), job.position


@dataclass(frozen=True, slots=True, kw_only=True)
class Aged:
    """Any order by key, but who has waited ``limit_s`` comes before all others, by arrival.

    Parameters
    ----------
    inner : Ordering
        Order of those who have waited less.
    limit_s : float
        Seconds since the arrival, > 0.

    Raises
    ------
    ConfigError
        If ``limit_s`` is not above zero.

    Examples
    --------
    >>> Aged(inner=ShortestOutput(), limit_s=5.0).limit_s
    5.0
    """

    inner: Ordering
    limit_s: float

    def __post_init__(self) -> None:
        checks.positive(limit_s=self.limit_s)

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """Those past the limit in order of arrival, then the others by the inner key."""
        since_s = view.now_s - self.limit_s + SAME_MOMENT_S
        yield from [job for job in waiting if job.arrival_s <= since_s]
        yield from sorted((job for job in waiting if job.arrival_s > since_s), key=self.inner.key)

    def open_ledger(self) -> Ledger | None:
        """None: the clock is all it needs."""
        return None
