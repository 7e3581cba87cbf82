"""Cached runs of blocks, and the order in which those that nobody uses are lost."""

from __future__ import annotations

from .tree import Node

__all__ = ["Copy", "Idle"]

_FEW = 8


class Copy:
    """Blocks ``start`` to ``end - 1`` of a node, filled by one job and used by ``n_owners``.

    A copy that is cut keeps its front; ``rest`` is what was cut off, with the same owners. So who took it up
    to some block finds all of it by following ``rest``. Copies without an owner stand in the order of `Idle`.
    """

    __slots__ = ("after", "before", "end", "n_owners", "node", "rest", "start")

    def __init__(self, node: Node | None, start: int, end: int) -> None:
        self.node = node  # None: nobody will ever look for it
        self.start, self.end = start, end
        self.n_owners = 1
        self.rest: Copy | None = None
        self.before: Copy | None = None
        self.after: Copy | None = None


class Idle:
    """Copies without an owner: the first is lost first, and of each its last block first.

    Attributes
    ----------
    n_blocks : int
        Blocks of all of them.
    """

    __slots__ = ("_ends", "n_blocks")

    def __init__(self) -> None:
        self.n_blocks = 0
        self._ends = ends = Copy(None, 0, 0)
        ends.before = ends.after = ends

    def append(self, copy: Copy) -> None:
        """A copy that lost its last owner: it is lost last."""
        self._put(copy, self._ends)
        self.n_blocks += copy.end - copy.start

    def remove(self, copy: Copy) -> None:
        """A copy that is used again."""
        self._unlink(copy)
        self.n_blocks -= copy.end - copy.start

    def cut(self, copy: Copy, at: int) -> Copy:
        """Cut a copy, idle or not, before block ``at``; returns what comes behind."""
        rest = Copy(copy.node, at, copy.end)
        rest.n_owners, rest.rest = copy.n_owners, copy.rest
        copy.end, copy.rest = at, rest
        if copy.node is not None:
            copies = copy.node.copies
            copies.insert(copies.index(copy) + 1, rest)
        if not copy.n_owners:
            self._put(rest, copy)
        return rest

    def lose(self, n_blocks: int) -> bool:
        """Give the first ``n_blocks`` to other contents; whether anybody might have looked for them."""
        self.n_blocks -= n_blocks
        is_missed = False
        while n_blocks:
            first = self._ends.after
            if first is None or first is self._ends:
                break
            size = first.end - first.start
            if first.node is not None:
                is_missed = True
            if size > n_blocks:
                first.end -= n_blocks
                break
            n_blocks -= size
            self._unlink(first)
            if first.node is not None:
                first.node.copies.remove(first)
        return is_missed

    def n_forgotten(self) -> int:
        """Blocks of the first few copies, up to one that anybody may look for."""
        n_blocks, copy = 0, self._ends.after
        for _ in range(_FEW):
            if copy is None or copy is self._ends or copy.node is not None:
                break
            n_blocks += copy.end - copy.start
            copy = copy.after
        return n_blocks

    def _put(self, copy: Copy, after: Copy) -> None:
        """Right before ``after``."""
        before = after.before
        copy.before, copy.after = before, after
        after.before = copy
        if before is not None:
            before.after = copy

    def _unlink(self, copy: Copy) -> None:
        before, after = copy.before, copy.after
        if before is not None and after is not None:
            before.after, after.before = after, before
        copy.before = copy.after = None
