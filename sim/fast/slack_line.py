"""Waiting jobs by what is left of the time to their deadlines."""

from __future__ import annotations

from collections.abc import Callable

from sim.job import JobView, moment

from .arrival import place_of
from .cache import Cache
from .job import FastJob
from .line import KeyedLine
from .prefix_line import PrefixLine

__all__ = ["CachedSlackLine", "SlackLine"]


class _BySlack:
    """A key that stays as it is while a job waits, as nothing of it is cached."""

    def __init__(self, alone_s: Callable[[int], float]) -> None:
        self._alone_s = alone_s

    def key(self, job: JobView) -> tuple[float, ...]:
        """Slack up to what is the same for all, arrival, row."""
        slack_s = moment(job.deadline_s - self._alone_s(job.known_tokens))
        return slack_s, moment(job.arrival_s), job.position


class SlackLine(KeyedLine):
    """The order of `LeastSlack` without a prefix cache; ``alone_s`` is the time for so many tokens alone."""

    __slots__ = ()

    def __init__(self, alone_s: Callable[[int], float]) -> None:
        super().__init__(_BySlack(alone_s))

    def foremost(self) -> FastJob:
        """The first by arrival; there must be one."""
        return min(self.jobs(), key=lambda job: (job.is_demoted, *place_of(job)))


class CachedSlackLine(PrefixLine):
    """The same with a prefix cache; ``alone_s`` is the time for so many tokens, after so many cached ones."""

    __slots__ = ("_alone_s",)

    def __init__(self, cache: Cache, *, block_tokens: int, alone_s: Callable[[int, int], float]) -> None:
        super().__init__(cache, block_tokens=block_tokens)
        self._alone_s = alone_s

    def _by_prefix(self, jobs: list[FastJob]) -> list[FastJob]:
        """Least slack first."""
        return sorted(jobs, key=self._slack_s)

    def _slack_s(self, job: FastJob) -> float:
        n_cached = self._cached(job) * self._block_tokens
        return moment(job.deadline_s - self._alone_s(job.known_tokens - n_cached, n_cached))
