"""Block tables over the pool: lookup, admission, growth with copy-on-write, publication, release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .pool import BlockPool
from .used_pool import LastUsePool

__all__ = ["LOST_FIRST", "Growth", "KvMemory"]

LOST_FIRST = ("returned", "used")
"""Which cached contents are lost first: by when they were given back, or last used."""


@dataclass(slots=True)
class _Table:
    blocks: list[int]
    n_published: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What an allocation did.

    Parameters
    ----------
    new_blocks : list of int
        Blocks taken from the pool, in the order of the table.
    evicted : list of int
        Those of them whose cached contents were lost.
    copied : list of (int, int)
        From and to of a shared block that is written to, at most one.

    Examples
    --------
    >>> Growth(new_blocks=[4], copied=[(1, 3)]).evicted
    []
    """

    new_blocks: list[int] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)
    copied: list[tuple[int, int]] = field(default_factory=list)


class KvMemory:
    """Paged KV memory of one replica.

    Parameters
    ----------
    n_blocks : int
        Blocks in the pool, >= 1.
    block_tokens : int
        Tokens of a block, >= 1.
    prefix_cache : bool
        Whether full blocks are found by their contents after and while others use them.
    keeps_copies : bool
        Whether a block stays that turns out to hold what another holds; else its owner shares the other.
    eviction : str
        Which cached contents are lost first: those ``returned`` or those ``used`` longest ago.

    Raises
    ------
    ConfigError
        If a size is not a whole number above zero, or the order of eviction is unknown.

    Examples
    --------
    >>> memory = KvMemory(n_blocks=4, block_tokens=16)
    >>> memory.open("A", [], 20).new_blocks, memory.n_free
    ([0, 1], 2)
    >>> memory.extend("A", 20, 33).new_blocks
    [2]
    """

    def __init__(
        self,
        *,
        n_blocks: int,
        block_tokens: int,
        prefix_cache: bool = False,
        keeps_copies: bool = True,
        eviction: str = "returned",
    ) -> None:
        checks.integer(block_tokens=block_tokens)
        checks.one_of("eviction", eviction, LOST_FIRST)
        self.pool = LastUsePool(n_blocks) if eviction == "used" else BlockPool(n_blocks)
        self.block_tokens = block_tokens
        self.prefix_cache = prefix_cache
        self.keeps_copies = keeps_copies
        self._tables: dict[Hashable, _Table] = {}

    @property
    def n_free(self) -> int:
        """Free blocks, cached ones included."""
        return self.pool.n_free

    def blocks_for(self, n_tokens: int) -> int:
        """Blocks that hold ``n_tokens``."""
        return -(-n_tokens // self.block_tokens)

    def blocks(self, owner: Hashable) -> list[int]:
        """Block table of ``owner``, in order."""
        return list(self._tables[owner].blocks)

    def n_held(self, owner: Hashable) -> int:
        """Blocks in the table of ``owner``; 0 if it has none."""
        table = self._tables.get(owner)
        return len(table.blocks) if table else 0

    def lookup(self, chain: Sequence[int], known_tokens: int, *, whole: bool = False) -> list[int]:
        """Cached blocks of a prefix; at least one known token is left to compute, unless ``whole``."""
        if not self.prefix_cache:
            return []
        return self.pool.match(chain[: (known_tokens if whole else known_tokens - 1) // self.block_tokens])

    def demand(self, hit: Sequence[int], n_tokens: int, gone: Counter[int] | None = None) -> int:
        """Free blocks that ``n_tokens`` need: new ones, and those of the hit that are free themselves.

        With ``gone``, the references of `references`, as if these had been given back already.
        """
        refs = self.pool.refs
        idle = sum(refs(block) == (gone[block] if gone else 0) for block in hit)
        return self.blocks_for(n_tokens) - len(hit) + idle

    def references(self, owners: Iterable[Hashable]) -> Counter[int]:
        """How often the tables of ``owners`` refer to each block."""
        return Counter(block for owner in owners for block in self._tables[owner].blocks)

    def freed_by(self, gone: Counter[int]) -> int:
        """Blocks that would become free if the references ``gone`` were given back."""
        return sum(self.pool.refs(block) == count for block, count in gone.items())

    def open(self, owner: Hashable, hit: Sequence[int], n_tokens: int) -> Growth:
        """A table for ``owner``: the blocks of ``hit`` shared, the rest of ``n_tokens`` from the pool."""
        if owner in self._tables:
            raise ConfigError(f"owner: {owner!r} has blocks already")
        self.pool.use(hit)
        self.pool.share(hit)
        evicted: list[int] = []
        new = self.pool.take(self.blocks_for(n_tokens) - len(hit), evicted)
        self._tables[owner] = _Table([*hit, *new], n_published=len(hit))
        return Growth(new_blocks=new, evicted=evicted)

    def growth_demand(self, owner: Hashable, stored_tokens: int, n_tokens: int) -> int:
        """Free blocks that ``owner`` needs to grow from ``stored_tokens`` to ``n_tokens``."""
        copies = self._writes_shared_block(owner, stored_tokens, n_tokens)
        return max(self.blocks_for(n_tokens) - self.n_held(owner), 0) + copies

    def extend(self, owner: Hashable, stored_tokens: int, n_tokens: int) -> Growth:
        """Let the table of ``owner`` hold ``n_tokens``; a shared block that is written to is copied first."""
        table = self._tables[owner].blocks
        evicted: list[int] = []
        copied = []
        if self._writes_shared_block(owner, stored_tokens, n_tokens):
            index = stored_tokens // self.block_tokens
            (copy,) = self.pool.take(1, evicted)
            copied.append((table[index], copy))
            self.pool.release([table[index]])
            table[index] = copy
        new = self.pool.take(max(self.blocks_for(n_tokens) - len(table), 0), evicted)
        table += new
        return Growth(new_blocks=new, evicted=evicted, copied=copied)

    def publish(self, owner: Hashable, chain: Sequence[int], n_tokens: int) -> None:
        """Let others find the full blocks of the first ``n_tokens`` under the keys of ``chain``."""
        table = self._tables[owner]
        before = table.n_published
        for index in range(before, min(n_tokens // self.block_tokens, len(chain))):
            held = [] if self.keeps_copies else self.pool.match([chain[index]])
            if held:
                self.pool.share(held)
                self.pool.release([table.blocks[index]])
                table.blocks[index] = held[0]
            else:
                self.pool.publish(table.blocks[index], key=chain[index])
            table.n_published = index + 1
        if table.n_published > before:
            self.pool.use(table.blocks[: table.n_published])

    def fork(self, owner: Hashable, new: Hashable) -> None:
        """A second owner of all blocks of ``owner``."""
        table = self._tables[owner]
        if new in self._tables:
            raise ConfigError(f"owner: {new!r} has blocks already")
        self.pool.share(table.blocks)
        self._tables[new] = _Table(list(table.blocks), table.n_published)

    def close(self, owner: Hashable) -> int:
        """Give the blocks of ``owner`` back, last block first; how many it held."""
        table = self._tables.pop(owner)
        self.pool.release(table.blocks[::-1])
        return len(table.blocks)

    def _writes_shared_block(self, owner: Hashable, stored_tokens: int, n_tokens: int) -> bool:
        """Only a partly filled block is ever written to; it is shared after a fork alone."""
        partial = stored_tokens % self.block_tokens
        if not partial or n_tokens <= stored_tokens:
            return False
        return self.pool.refs(self._tables[owner].blocks[stored_tokens // self.block_tokens]) > 1
