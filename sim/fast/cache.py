"""The prefix cache of the fast engine: what is found, shared, published and given back, as runs of blocks."""

from __future__ import annotations

from collections.abc import Mapping

from .cohort import Cohort
from .copies import Copy, Idle
from .job import FastJob
from .tree import Node

__all__ = ["Cache", "Hit"]

Part = tuple[Copy, int, int]
Hit = tuple[list[Part], int, int]
"""Copies with first and last block + 1, their blocks, and those of them that nobody uses."""


class Cache:
    """Contents of memory. How many blocks are free is the state's to know; which ones are lost is told here.

    A job's ``table`` are copies with the block up to which it took each; together they are its first
    ``n_listed`` blocks. The blocks behind are its own, and no copies yet: nobody else can ask for them, or
    they are not published. A block that a decode fills is published when it is asked for; till then the job
    is a writer of its node.

    Attributes
    ----------
    ahead : int
        Tokens that the cohort has published beyond its last step: 1 while a pass has planned the next.
    planned : mapping of job to int, optional
        The same, job by job, while the running jobs are visited.
    version : int
        Grows with each change of what several jobs may find.
    """

    __slots__ = ("_block_tokens", "_cohort", "ahead", "idle", "planned", "version")

    def __init__(self, cohort: Cohort, block_tokens: int) -> None:
        self._cohort, self._block_tokens = cohort, block_tokens
        self.idle = Idle()
        self.ahead = self.version = 0
        self.planned: Mapping[FastJob, int] | None = None

    def settle(self, n_free: int) -> None:
        """Blocks that were taken since the last time have lost what they held."""
        if self.idle.n_blocks > n_free and self.idle.lose(self.idle.n_blocks - n_free):
            self.version += 1

    def steady_blocks(self, n_free: int) -> int:
        """Blocks that can be taken until something is lost that a waiting job may look for, or a few less."""
        return n_free - self.idle.n_blocks + self.idle.n_forgotten()

    # ---- what is found

    def match(self, job: FastJob) -> Hit:
        """Cached blocks that ``job`` would reuse; at least one known token is left to compute."""
        limit = (job.known_tokens - 1) // self._block_tokens
        parts: list[Part] = []
        at = 0
        if job.node is not None:
            for node in job.node.path:
                if node.writers:
                    self._sync(node)
                end = node.end if node.end < limit else limit
                at = _cover(node.copies, at, end, parts)
                if at < end or end == limit:
                    break
        if job.leaf is not None and at >= job.leaf.start:
            at = _cover(job.leaf.copies, at, limit, parts)
        n_idle = 0
        for copy, start, end in parts:
            if not copy.n_owners:
                n_idle += end - start
        return parts, at, n_idle

    def reach(self, node: Node) -> int:
        """Cached blocks of a path, from the first one on."""
        at = 0
        for part in node.path:
            at = _cover(part.copies, at, part.end, [])
            if at < part.end:
                break
        return at

    def share(self, job: FastJob, hit: Hit) -> None:
        """``job`` uses what it found."""
        idle = self.idle
        table: list[tuple[Copy, int]] = []
        for copy, start, end in hit[0]:
            if copy.start < start:
                copy = idle.cut(copy, start)
            if copy.end > end:
                idle.cut(copy, end)
            if not copy.n_owners:
                idle.remove(copy)
            copy.n_owners += 1
            table.append((copy, end))
        job.table, job.n_listed = table, hit[1]

    # ---- what is published

    def publish(self, job: FastJob, n_blocks: int) -> None:
        """The first ``n_blocks`` of ``job`` can be found, as far as others may look for them."""
        last = job.node
        if last is None or job.n_listed >= last.end or job.n_listed >= n_blocks:
            return
        for node in last.path:
            if node.end > job.n_listed:
                if node.start >= n_blocks:
                    return
                if node.writers:
                    self._sync(node)
                self._list(job, node, n_blocks)

    def _list(self, job: FastJob, node: Node, n_blocks: int) -> None:
        """Blocks of one node, up to ``n_blocks``, join the copies."""
        start, end = job.n_listed, node.end if node.end < n_blocks else n_blocks
        if start >= end:
            return
        copies = node.copies
        self.version += 1
        job.n_listed = end
        if len(copies) == 1 and job.table:
            copy, upto = job.table[-1]
            if copies[0] is copy and copy.end == upto == start and copy.n_owners == 1:
                copy.end = end
                job.table[-1] = copy, end
                return
        copy = Copy(node, start, end)
        copies.append(copy)
        job.table.append((copy, end))

    def _sync(self, node: Node) -> None:
        """Publish what the writers of a node, and of those before it, have filled."""
        for part in node.path:
            if not part.writers:
                continue
            writers = list(part.writers)
            if len(writers) > 1:
                writers.sort(key=lambda job: (-job.base, job.rank))  # who is further on was there before
            for job in writers:
                self._list(job, part, self._filled(job))
                if job.n_listed >= part.end:
                    del part.writers[job]

    def _filled(self, job: FastJob) -> int:
        """Published blocks of a member of the cohort."""
        ahead = self.ahead if self.planned is None else self.planned.get(job, 0)
        return (job.base + self._cohort.step + ahead) // self._block_tokens

    def enrol(self, job: FastJob) -> None:
        """A job decodes from now on; it writes where others may look."""
        node = job.node
        if node is not None and job.n_listed < node.end:
            for part in node.path:
                if part.end > job.n_listed:
                    part.writers[job] = None
            job.is_writer = True
            self.version += 1

    def retire(self, job: FastJob) -> None:
        """It does not decode any more, and was brought up to date."""
        job.is_writer = False
        if job.node is not None:
            for part in job.node.path:
                part.writers.pop(job, None)

    def stand_still(self, job: FastJob) -> None:
        """A member of the cohort is left out of a step."""
        if job.is_writer and job.node is not None:
            self._sync(job.node)
            self.retire(job)

    # ---- what is given back

    def release(self, job: FastJob, n_published: int, *, may_return: bool) -> int:
        """``job`` gives up its table; how many blocks of it are cached and idle, or shared with others.

        Those that come on top of the published ones are plain free blocks.
        """
        if job.is_writer and job.node is not None:
            self._sync(job.node)
            self.retire(job)
        self.publish(job, n_published)
        table = job.table
        if n_published > job.n_listed:
            leaf = self._leaf(job) if may_return else None
            own = Copy(leaf, job.n_listed, n_published)
            if leaf is not None:
                leaf.copies.append(own)
            table.append((own, n_published))
        idle, n_shared = self.idle, 0
        for copy, end in reversed(table):
            parts = [copy]
            while copy.end < end and copy.rest is not None:
                copy = copy.rest
                parts.append(copy)
            for part in reversed(parts):
                part.n_owners -= 1
                if part.n_owners:
                    n_shared += part.end - part.start
                else:
                    part.rest = None
                    idle.append(part)
        job.table = []
        job.n_listed = 0
        return n_shared

    def _leaf(self, job: FastJob) -> Node:
        """Where a job finds blocks that nobody else has, when it comes back."""
        if job.leaf is None:
            start = job.node.end if job.node is not None else 0
            job.leaf = Node((), start, start)
        return job.leaf


def _cover(copies: list[Copy], at: int, end: int, parts: list[Part]) -> int:
    """Add the copies of blocks from ``at`` to ``end``, of each the one published first; where they stop."""
    while at < end:
        upto = end
        for copy in copies:
            if copy.start <= at < copy.end:
                break
            if at < copy.start < upto:
                upto = copy.start
        else:
            return at
        if copy.end < upto:
            upto = copy.end
        parts.append((copy, at, upto))
        at = upto
    return at
