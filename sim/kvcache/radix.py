"""A radix tree of token runs: longest cached prefix, locks on paths, eviction of whole leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .eviction import EVICTIONS

__all__ = ["Hold", "RadixTree"]

Run = tuple[int, ...]
_SPARE_OFFERS = 100  # out of date, before they are cleared away


class _Edge:
    """A run of tokens, as a slice of the sequence that brought it in, and the edges behind it."""

    __slots__ = (
        "behind", "end", "key", "made", "n_inserts", "n_locks", "parent", "priority", "run", "start", "used",
    )  # fmt: skip

    def __init__(self, parent: _Edge | None, key: object, run: Run, start: int, end: int) -> None:
        self.parent = self if parent is None else parent  # that of the root is the root
        self.key = key
        self.run, self.start, self.end = run, start, end
        self.behind: dict[object, _Edge] = {}  # by key, in the order in which they came
        self.n_locks = 0
        self.used = self.made = 0
        self.n_inserts = 0
        self.priority = 0

    def __len__(self) -> int:
        return self.end - self.start

    def common(self, run: Run, at: int) -> int:
        """Tokens that the edge and ``run`` from ``at`` have in common; slices are compared, not tokens."""
        own, first = self.run, self.start
        high = min(self.end - first, len(run) - at)
        if own[first : first + high] == run[at : at + high]:
            return high
        low, step = 0, 32  # the first difference is at low or behind, and before high
        while low + step < high and own[first + low : first + low + step] == run[at + low : at + low + step]:
            low, step = low + step, step * 2
        high = min(low + step, high)
        while high - low > 1:
            middle = (low + high) // 2
            if own[first + low : first + middle] == run[at + low : at + middle]:
                low = middle
            else:
                high = middle
        return low


class Hold:
    """A lock on a path of a `RadixTree`; only `RadixTree.lock` makes one.

    Parameters
    ----------
    tree, edge
        Whose path it is, and where that ends.
    n_tokens : int
        Tokens of the path that was found.

    Examples
    --------
    >>> tree = RadixTree()
    >>> tree.insert([1, 2, 3])
    0
    >>> tree.lock([1, 2]).n_tokens
    2
    """

    __slots__ = ("_edge", "_tree", "n_tokens")

    def __init__(self, tree: RadixTree, edge: _Edge, n_tokens: int) -> None:
        self._tree = tree
        self._edge: _Edge | None = edge
        self.n_tokens = n_tokens

    def give_back(self, tree: RadixTree) -> _Edge:
        """The last edge of the path; only once, and only to its tree."""
        edge = self._edge
        if edge is None or tree is not self._tree:
            raise ConfigError("hold: was given back already, or belongs to another tree")
        self._edge = None
        return edge


class RadixTree:
    """Prefixes in memory with the rules of SGLang's radix cache [1]_; each edge is a run of whole pages.

    A match, or an insertion that leaves an edge in its middle, splits it there. Both count as a use of every
    edge they touch, also of the rest of the one that is split. A lock protects a path up to the root.
    Eviction takes whole leaves that nobody holds, and so may free more than was asked for; an edge becomes a
    leaf when the last one behind it goes. Over keys of blocks, each a page of one, it is a view of the paged
    memory in which a run of blocks is one edge.

    Parameters
    ----------
    page_tokens : int
        Tokens of a page, >= 1; what does not fill a page is neither kept nor found.
    eviction : str
        One of ``lru``, ``mru``, ``fifo``, ``filo``, ``lfu``, ``slru``, ``priority``.

    Raises
    ------
    ConfigError
        If the page is not a whole number above zero or the order is unknown.

    References
    ----------
    .. [1] Zheng et al. (2024), "SGLang: efficient execution of structured language model programs", NeurIPS;
       SGLang, ``mem_cache/radix_cache.py``, July 2026.

    Examples
    --------
    >>> tree = RadixTree()
    >>> tree.insert([1, 2, 3, 4, 5, 6, 7, 8]), tree.insert([1, 2, 9, 10])
    (0, 2)
    >>> tree.match([1, 2, 3, 4, 99])
    4
    >>> tree.evict(3), tree.n_tokens
    ([(9, 10), (5, 6, 7, 8)], 4)
    """

    def __init__(self, *, page_tokens: int = 1, eviction: str = "lru") -> None:
        checks.integer(page_tokens=page_tokens)
        checks.one_of("eviction", eviction, EVICTIONS)
        self.page_tokens = page_tokens
        self._rank = EVICTIONS[eviction]
        self._clock = 0
        self._root = _Edge(None, None, (), 0, 0)
        self._leaves: dict[_Edge, None] = {}  # those without a lock
        self._offers: list[tuple[int, int, int, _Edge]] = []  # a heap: rank, number, leaf; some out of date
        self._n_offers = 0
        self.n_tokens = 0
        self.protected_tokens = 0

    @property
    def evictable_tokens(self) -> int:
        """Tokens that no lock protects; those with others behind them go later."""
        return self.n_tokens - self.protected_tokens

    def insert(self, tokens: Sequence[int], *, namespace: str = "", priority: int = 0) -> int:
        """Keep the whole pages of ``tokens``; how many tokens of them were there already."""
        run, now = self._whole_pages(tokens), self._tick()
        edge, found = self._root, 0
        for edge, n in self._walk(run, namespace):
            edge.used = now
            if n < len(edge):
                edge = self._split(edge, n)
            edge.n_inserts += 1
            edge.priority = max(edge.priority, priority)
            self._offer(edge)
            found += n
        if found < len(run):
            key = self._key(edge, run, found, namespace)
            leaf = edge.behind[key] = _Edge(edge, key, run[found:], 0, len(run) - found)
            leaf.used = leaf.made = self._tick()
            leaf.n_inserts, leaf.priority = 1, priority
            self.n_tokens += len(leaf)
            self._leaves.pop(edge, None)
            self._note_leaf(leaf)
        return found

    def match(self, tokens: Sequence[int], *, namespace: str = "") -> int:
        """Tokens of the longest prefix that is kept, whole pages; counts as a use."""
        return self._find(tokens, namespace)[1]

    def peek(self, tokens: Sequence[int], *, namespace: str = "") -> int:
        """As `match`, but leaves no trace."""
        return sum(n for _, n in self._walk(self._whole_pages(tokens), namespace))

    def cuts(self, tokens: Sequence[int], *, namespace: str = "") -> list[int]:
        """Where in ``tokens`` the edges begin that hold its kept prefix; leaves no trace."""
        starts, at = [], 0
        for _, n in self._walk(self._whole_pages(tokens), namespace):
            starts.append(at)
            at += n
        return starts

    def lock(self, tokens: Sequence[int], *, namespace: str = "") -> Hold:
        """Protect the longest kept prefix of ``tokens``; counts as a use."""
        edge, found = self._find(tokens, namespace)
        for part in self._up(edge):
            if not part.n_locks:
                self.protected_tokens += len(part)
                self._leaves.pop(part, None)
            part.n_locks += 1
        return Hold(self, edge, found)

    def unlock(self, hold: Hold) -> None:
        """Give a lock back."""
        for part in self._up(hold.give_back(self)):
            part.n_locks -= 1
            if not part.n_locks:
                self.protected_tokens -= len(part)
                self._note_leaf(part)

    def evict(self, n_tokens: int) -> list[Run]:
        """Take leaves that nobody holds until ``n_tokens`` are free or none is left; what they held."""
        gone, freed = [], 0
        while freed < n_tokens and self._offers:
            *rank, _, leaf = heappop(self._offers)
            if leaf not in self._leaves or tuple(rank) != self._rank(leaf):
                continue
            gone.append(leaf.run[leaf.start : leaf.end])
            freed += len(leaf)
            self._drop(leaf)
        return gone

    def _tick(self) -> int:
        self._clock += 1
        return self._clock

    def _whole_pages(self, tokens: Sequence[int]) -> Run:
        return tuple(tokens[: len(tokens) // self.page_tokens * self.page_tokens])

    def _key(self, edge: _Edge, run: Run, at: int, namespace: str) -> object:
        """Under what the edge that goes on with ``run`` from ``at`` is found behind ``edge``."""
        first = run[at] if self.page_tokens == 1 else run[at : at + self.page_tokens]
        return (namespace, first) if edge is self._root else first

    def _walk(self, run: Run, namespace: str) -> Iterator[tuple[_Edge, int]]:
        """Edges along ``run``, each with the tokens of it that agree: all of them but for the last edge."""
        edge, at = self._root, 0
        while at < len(run):
            behind = edge.behind.get(self._key(edge, run, at, namespace))
            if behind is None:
                return
            length = len(behind)
            n = behind.common(run, at) // self.page_tokens * self.page_tokens
            yield behind, n
            if n < length:
                return
            edge, at = behind, at + n

    def _find(self, tokens: Sequence[int], namespace: str) -> tuple[_Edge, int]:
        """The edge with which the longest kept prefix ends, after a split if need be, and its tokens."""
        now, edge, found = self._tick(), self._root, 0
        for edge, n in self._walk(self._whole_pages(tokens), namespace):
            edge.used = now
            if n < len(edge):
                edge = self._split(edge, n)
            self._offer(edge)
            found += n
        return edge, found

    def _split(self, edge: _Edge, n: int) -> _Edge:
        """Cut ``edge`` after ``n`` tokens; returns the front part, which is new and shares its locks."""
        parent, middle = edge.parent, edge.start + n
        front = _Edge(parent, edge.key, edge.run, edge.start, middle)
        front.used = front.made = self._tick()
        front.n_locks, front.n_inserts, front.priority = edge.n_locks, edge.n_inserts, edge.priority
        parent.behind[edge.key] = front  # in the place of the edge
        edge.parent, edge.start = front, middle
        edge.key = self._key(front, edge.run, middle, "")
        front.behind[edge.key] = edge
        self._offer(edge)
        return front

    def _up(self, edge: _Edge) -> Iterator[_Edge]:
        """``edge`` and those before it, without the root."""
        while edge is not self._root:
            yield edge
            edge = edge.parent

    def _note_leaf(self, edge: _Edge) -> None:
        if edge is not self._root and not edge.behind and not edge.n_locks:
            self._leaves[edge] = None
            self._offer(edge)

    def _offer(self, edge: _Edge) -> None:
        """Note the rank of a leaf, which was made or used; what was noted of it before is out of date."""
        if edge not in self._leaves:
            return
        if len(self._offers) > 2 * len(self._leaves) + _SPARE_OFFERS:
            self._offers = [(*self._rank(leaf), -order, leaf) for order, leaf in enumerate(self._leaves)]
            heapify(self._offers)
        self._n_offers += 1
        heappush(self._offers, (*self._rank(edge), self._n_offers, edge))

    def _drop(self, leaf: _Edge) -> None:
        """Take a leaf out; the edge before it may be one now."""
        del leaf.parent.behind[leaf.key], self._leaves[leaf]
        self.n_tokens -= len(leaf)
        self._note_leaf(leaf.parent)
