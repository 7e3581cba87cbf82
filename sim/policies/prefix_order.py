"""Orders by cached prefix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from qtheory.basics import checks
from sim.job import JobView
from sim.kvcache import RadixTree
from sim.plan import View

from .pieces import Ledger

__all__ = ["DepthFirst", "LongestPrefix"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestPrefix:
    """Longest cached prefix first; cold jobs that share a prefix with an earlier one go last [1]_.

    Parameters
    ----------
    sharing_tokens : int
        Jobs with at most this much cached are looked at for sharing, and this many shared tokens make the
        later one wait, >= 0.
    max_queue : int
        Above this many waiting jobs the order is by arrival, >= 0.

    Raises
    ------
    ConfigError
        If a number is negative.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py``, policy lpm, July 2026.

    Examples
    --------
    >>> LongestPrefix().max_queue
    128
    """

    sharing_tokens: int = 32
    max_queue: int = 128

    def __post_init__(self) -> None:
        checks.at_least(0, sharing_tokens=self.sharing_tokens, max_queue=self.max_queue)

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """By tokens in the cache now; those that go last stay in order of arrival."""
        if not view.has_prefix_cache or len(waiting) > self.max_queue:
            yield from waiting
            return
        rank: dict[int, float] = {}
        cold = RadixTree()
        for job in waiting:
            cached = view.cached_tokens(job)
            rank[job.position] = -cached
            if cached > self.sharing_tokens:
                continue
            salt, text, size = self._text(job, view)
            if cold.n_tokens and cold.peek(text, namespace=salt) * size >= self.sharing_tokens:
                rank[job.position] = 1
            else:
                cold.insert(text, namespace=salt)
        yield from sorted(waiting, key=lambda job: rank[job.position])

    def _text(self, job: JobView, view: View) -> tuple[str, Sequence[int], int]:
        """Salt, units and tokens of a unit: blocks where they tell whether enough is shared, else tokens."""
        if self.sharing_tokens % view.block_tokens == 0:
            return "", view.block_keys(job), view.block_tokens
        return *view.text(job), 1

    def open_ledger(self) -> Ledger | None:
        """None: the memory is all it needs."""
        return None


@dataclass(frozen=True, slots=True)
class DepthFirst:
    """Through the tree of cached prefixes, branches with more waiting jobs first [1]_.

    The jobs whose cached prefix ends at a node come after those of the branches behind it; of branches with
    equally many jobs the one goes first that has the earliest of them.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py``, policy dfs-weight, July 2026.

    Examples
    --------
    >>> DepthFirst()
    DepthFirst()
    """

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """By what is in the cache now."""
        if not view.has_prefix_cache:
            yield from waiting
            return
        tree, found = RadixTree(), dict[int, Sequence[int]]()
        for job in waiting:
            n_cached = view.cached_tokens(job) // view.block_tokens
            found[job.position] = keys = view.block_keys(job)[:n_cached]
            tree.insert(keys)
        # a key names a whole prefix, so the first key of an edge names the edge
        path = {job: [keys[start] for start in tree.cuts(keys)] for job, keys in found.items()}
        weight = Counter(edge for edges in path.values() for edge in edges)
        place = {edge: n for n, edge in enumerate(weight)}  # that of its first job
        behind_all_branches = (1, 0)
        rank = {
            job: [*((-weight[edge], place[edge]) for edge in edges), behind_all_branches]
            for job, edges in path.items()
        }
        yield from sorted(waiting, key=lambda job: rank[job.position])

    def open_ledger(self) -> Ledger | None:
        """None: the memory is all it needs."""
        return None
