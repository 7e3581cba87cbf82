"""Which requests begin alike: a tree of runs of blocks, made before the run from what the requests say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from qtheory.system.workload.request import Requests
from sim.kvcache import Chains, Contents
from sim.kvcache.texts import TextContents

if TYPE_CHECKING:
    from .copies import Copy
    from .job import FastJob

__all__ = ["Node", "nodes_of"]

Span = tuple[int, int, int]
_PER_TEXT = 2**32


class Node:
    """Blocks ``start`` to ``end - 1`` of all requests that have this node on their path.

    ``path`` leads from the first block to this node. ``copies`` are the cached runs of its blocks, in the
    order in which they were published; ``writers`` the jobs that decode what it holds, while not all is
    published.
    """

    __slots__ = ("copies", "end", "path", "start", "writers")

    def __init__(self, before: tuple[Node, ...], start: int, end: int) -> None:
        self.start, self.end = start, end
        self.path: tuple[Node, ...] = (*before, self)
        self.copies: list[Copy] = []
        self.writers: dict[FastJob, None] = {}


class _Edge:
    """A run of tokens that requests have in common, at ``begin`` to ``end`` of their text."""

    __slots__ = ("begin", "behind", "end", "key", "n", "node", "parent")

    def __init__(self, parent: _Edge | None, key: int, begin: int, end: int) -> None:
        self.parent, self.key = parent, key
        self.begin, self.end = begin, end
        self.n = 0  # requests that go through it
        self.behind: dict[int, _Edge] = {}
        self.node: Node | None = None

    def front(self, n_tokens: int) -> _Edge:
        """Cut off the first ``n_tokens``, as an edge before this one."""
        front = _Edge(self.parent, self.key, self.begin, self.begin + n_tokens)
        front.n = self.n
        if self.parent is not None:
            self.parent.behind[self.key] = front
        self.key += n_tokens
        self.begin, self.parent = front.end, front
        front.behind[self.key] = self
        return front


def _insert(root: _Edge, spans: Iterable[Span]) -> _Edge:
    """The edge with which the spans end."""
    edge = root
    for text, start, n_tokens in spans:
        key, last = text * _PER_TEXT + start, text * _PER_TEXT + start + n_tokens
        while key < last:
            behind = edge.behind.get(key)
            if behind is None:
                behind = edge.behind[key] = _Edge(edge, key, edge.end, edge.end + last - key)
            elif behind.end - behind.begin > last - key:
                behind = behind.front(last - key)
            behind.n += 1
            edge = behind
            key += behind.end - behind.begin
    return edge


def _grow(root: _Edge, block_tokens: int) -> None:
    """Give each edge that several requests share its node: one for a chain of edges of the same requests."""
    todo: list[tuple[_Edge, Node | None]] = [(edge, None) for edge in root.behind.values() if edge.n > 1]
    while todo:
        edge, before = todo.pop()
        chain = [edge]
        while len(edge.behind) == 1 and (behind := next(iter(edge.behind.values()))).n == edge.n:
            edge = behind
            chain.append(edge)
        start, end = chain[0].begin // block_tokens, edge.end // block_tokens
        node = before
        if start < end:
            node = Node(before.path if before is not None else (), start, end)
        for part in chain:
            part.node = node
        todo += [(behind, node) for behind in edge.behind.values() if behind.n > 1]


def _spans(contents: Contents, requests: Requests, block_tokens: int) -> Iterator[list[Span]]:
    """What each request says, as runs of tokens of texts, as long as others may say the same."""
    if isinstance(contents, TextContents):
        yield from contents.spans(requests)
        return
    chains = Chains(block_tokens=block_tokens)
    lengths = zip(requests.prompt_tokens.tolist(), requests.output_tokens.tolist(), strict=True)
    for position, (prompt, output) in enumerate(lengths):
        text = contents.tokens(position, prompt_tokens=prompt, n_outputs=output)
        keys = chains.extend([], text, salt=contents.salt(position))
        yield [(key, 0, block_tokens) for key in keys]  # a key stands for the whole text up to there


def nodes_of(contents: Contents, requests: Requests, block_tokens: int) -> list[Node | None]:
    """The last node that each request shares with others; None if it shares no block."""
    root = _Edge(None, 0, 0, 0)
    last = [_insert(root, spans) for spans in _spans(contents, requests, block_tokens)]
    _grow(root, block_tokens)
    nodes: list[Node | None] = []
    for edge in last:
        at: _Edge | None = edge
        while at is not None and at.n < 2:
            at = at.parent
        nodes.append(at.node if at is not None else None)
    return nodes
