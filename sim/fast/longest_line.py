"""Waiting jobs, the longest prefix in memory first."""

from __future__ import annotations

from sim.policies import LongestPrefix

from .cache import Cache
from .job import FastJob
from .prefix_line import PrefixLine
from .tree import Node

__all__ = ["LongestLine"]


class LongestLine(PrefixLine):
    """The order of `LongestPrefix`, whose sharing is counted in blocks."""

    __slots__ = ("_covered", "_has_cold", "_sharing")

    def __init__(
        self, ordering: LongestPrefix, cache: Cache, *, block_tokens: int, max_skip: int = 0
    ) -> None:
        super().__init__(cache, block_tokens=block_tokens, max_skip=max_skip, max_queue=ordering.max_queue)
        self._sharing = ordering.sharing_tokens // block_tokens  # in blocks
        self._covered: dict[Node, int] = {}  # by jobs with little in memory
        self._has_cold = False  # whether there are such jobs, with a block or more

    def _by_prefix(self, jobs: list[FastJob]) -> list[FastJob]:
        """Most in memory first; of those with little, who has enough in common with an earlier one last."""
        self._covered.clear()
        self._has_cold = False
        rank: dict[FastJob, int] = {}
        for job in jobs:
            cached = self._cached(job)
            rank[job] = -cached
            if cached <= self._sharing and not self._is_first_of_its_kind(job):
                rank[job] = 1
        return sorted(jobs, key=rank.__getitem__)

    def _is_first_of_its_kind(self, job: FastJob) -> bool:
        """Whether no earlier job like this has enough in common with it; if so, later ones are held to it."""
        known, covered, shared = job.known_tokens // self._block_tokens, self._covered, 0
        path = job.node.path if job.node is not None else ()
        for node in path:
            upto = min(covered.get(node, 0), known)
            if upto <= shared:
                break
            shared = upto
            if shared < node.end:
                break
        if self._has_cold and shared >= self._sharing:
            return False
        self._has_cold |= known > 0
        for node in path:
            if node.start < known:
                covered[node] = max(covered.get(node, 0), min(node.end, known))
        return True
