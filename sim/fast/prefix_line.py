"""Waiting jobs by what of them is in memory."""

from __future__ import annotations

from .arrival import ArrivalLine, place_of
from .cache import Cache
from .job import FastJob
from .line import FOR_EVER
from .tree import Node

__all__ = ["PrefixLine"]

_DEMOTED, _LAST = 2, 3  # stages
_FEW = 16


class PrefixLine(ArrivalLine):
    """An order by what is in memory, `_by_prefix`; kept until the line or the cache changes.

    Parameters
    ----------
    cache : Cache
    block_tokens : int
    max_skip : int
        How often a job is overtaken until it goes first; 0: any number of times.
    max_queue : int
        Above this many waiting jobs the order is by arrival.
    """

    __slots__ = (
        "_block_tokens", "_cache", "_is_long", "_made_at", "_max_queue", "_max_skip", "_n_changes",
        "_n_skips", "_order", "_reach", "_stage", "_writes",
    )  # fmt: skip

    def __init__(
        self, cache: Cache, *, block_tokens: int, max_skip: int = 0, max_queue: int = FOR_EVER
    ) -> None:
        super().__init__()
        self._max_skip, self._max_queue = max_skip, max_queue
        self._cache, self._block_tokens = cache, block_tokens
        self._n_changes = 0
        self._made_at = (-1, -1)  # version of the cache and changes of the line
        self._order: list[FastJob] = []  # the first one last
        self._stage = -1  # overtaken too often, the others, and the same of demoted ones
        self._is_long = False  # whether so many wait that they go in order of arrival, a few at a time
        self._writes = False  # whether a job writes what one of the waiting may find
        self._reach: dict[Node, tuple[int, int]] = {}  # version and cached blocks
        self._n_skips: dict[int, int] = {}

    def join(self, job: FastJob) -> None:
        """A job that arrives."""
        self._n_changes += 1
        super().join(job)

    def drop(self, job: FastJob) -> None:
        """Take out a job wherever it stands."""
        self._n_changes += 1
        super().drop(job)

    def demote(self, jobs: list[FastJob]) -> None:
        """Put waiting jobs behind all others for good."""
        self._n_changes += 1
        super().demote(jobs)

    def begin_pass(self) -> None:
        """The order is that of now."""
        now = self._cache.version, self._n_changes
        if self._made_at == now and self._stage < _DEMOTED and not self._writes:
            return
        self._made_at, self._stage, self._order = now, -1, []
        self._writes = self._is_long = False

    def head(self) -> FastJob:
        """The first; there must be one."""
        while not self._order and self._stage < _LAST:
            if not self._is_long:
                self._stage += 1
            self._order = self._arrange(self._stage)
        return self._order[-1]

    def pop(self, *, is_admitted: bool = True) -> FastJob:
        """Take the first; it is let in, or turned away."""
        job = self.head()
        self._order.pop()
        self.drop(job)
        if is_admitted and self._max_skip:
            own = place_of(job)
            for other in self.jobs():
                if place_of(other) < own:
                    self._n_skips[other.position] = self._n_skips.get(other.position, 0) + 1
        return job

    def steady_steps(self) -> int:
        """One if a job writes what others may find."""
        return 1 if self._writes or (self._order and _is_written(self._order[-1].node)) else FOR_EVER

    def _arrange(self, stage: int) -> list[FastJob]:
        """The jobs of a stage, the first one last: each is arranged when those before it have gone in."""
        places = self.first if stage < _DEMOTED else self.rest
        if stage in (1, _LAST):
            self._is_long = (self._is_long or len(places) > self._max_queue) and len(places) > 0
            if self._is_long:
                return [place[2] for place in reversed(places[:_FEW])]
            found = self._by_prefix([place[2] for place in places])
            found.reverse()
            return found
        if not self._max_skip:
            return []
        return [job for *_, job in reversed(places) if self._n_skips.get(job.position, 0) >= self._max_skip]

    def _by_prefix(self, jobs: list[FastJob]) -> list[FastJob]:
        """Jobs, given in order of arrival, in the order in which they go in."""
        return jobs

    def _cached(self, job: FastJob) -> int:
        """Blocks of a job that are in memory."""
        node = job.node
        is_written = _is_written(node)
        self._writes |= is_written
        if is_written or job.leaf is not None:
            return self._cache.match(job)[1]
        if node is None:
            return 0
        version, blocks = self._reach.get(node, (-1, 0))
        if version != self._cache.version:
            blocks = self._cache.reach(node)
            self._reach[node] = self._cache.version, blocks
        return min(blocks, (job.known_tokens - 1) // self._block_tokens)


def _is_written(node: Node | None) -> bool:
    """Whether a job decodes what is on the path of a node."""
    return node is not None and any(part.writers for part in node.path)
