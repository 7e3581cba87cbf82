"""Waiting jobs through the tree of what of them is in memory."""

from __future__ import annotations

from collections import Counter

from .job import FastJob
from .prefix_line import PrefixLine
from .tree import Node

__all__ = ["DepthLine"]


class DepthLine(PrefixLine):
    """The order of `DepthFirst`. A branch is a node, or a job for what it alone has."""

    __slots__ = ()

    def _by_prefix(self, jobs: list[FastJob]) -> list[FastJob]:
        """Heavy branches first, of equal ones that of the earliest job; who ends at a node behind all others.

        Blocks of a node are alike for all: who has more of it in memory comes before who has less.
        """
        cached = {job: self._cached(job) for job in jobs}
        paths = {job: _branches(job, n_blocks) for job, n_blocks in cached.items()}
        weight = Counter(branch for path in paths.values() for branch in path)
        place = {branch: n for n, branch in enumerate(weight)}
        rank = {
            job: [*((-weight[branch], place[branch]) for branch in path), (1, -cached[job])]
            for job, path in paths.items()
        }
        return sorted(jobs, key=rank.__getitem__)


def _branches(job: FastJob, n_blocks: int) -> list[Node | FastJob]:
    """Where the first ``n_blocks`` of a job lie."""
    path = job.node.path if job.node is not None else ()
    found: list[Node | FastJob] = [node for node in path if node.start < n_blocks]
    if n_blocks > (path[-1].end if path else 0):
        found.append(job)
    return found
