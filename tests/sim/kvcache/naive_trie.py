"""A trie with a node a page, against which the radix tree is held: slow, and without runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class Node:
    """One page. Only where an edge of the tree ends (``is_end``) do the marks of the edge mean anything."""

    def __init__(self, parent: Node | None, page: tuple[int, ...]) -> None:
        self.parent, self.page = parent, page
        self.children: dict[Any, Node] = {}
        self.is_end = False
        self.n_locks = 0
        self.marks = {"used": 0, "made": 0, "inserts": 0, "priority": 0}


RANKS = {
    "lru": lambda m: m["used"],
    "mru": lambda m: -m["used"],
    "fifo": lambda m: m["made"],
    "filo": lambda m: -m["made"],
    "lfu": lambda m: (m["inserts"], m["used"]),
    "slru": lambda m: (m["inserts"] >= 2, m["used"]),
    "priority": lambda m: (m["priority"], m["used"]),
}


class NaiveTrie:
    def __init__(self, page_tokens: int, eviction: str) -> None:
        self.size, self.rank = page_tokens, RANKS[eviction]
        self.root = Node(None, ())
        self.clock = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def pages(self, tokens: Sequence[int], namespace: str) -> list[Any]:
        ends = range(self.size, len(tokens) + 1, self.size)
        pages = [tuple(tokens[end - self.size : end]) for end in ends]
        return [(namespace, *page) if i == 0 else page for i, page in enumerate(pages)]

    def nodes(self) -> Iterator[Node]:
        todo = list(self.root.children.values())
        while todo:
            node = todo.pop()
            yield node
            todo += node.children.values()

    def find(self, pages: list[Any], now: int) -> list[Node]:
        """The nodes along ``pages``; an edge that the path leaves in its middle ends there from now on."""
        path, node = [], self.root
        for page in pages:
            if page not in node.children:
                break
            node = node.children[page]
            path.append(node)
        for node in path:
            if node.is_end:
                node.marks["used"] = now
        if path and not path[-1].is_end:
            rest = path[-1]
            while not rest.is_end:
                (rest,) = rest.children.values()
            rest.marks["used"] = now
            path[-1].is_end = True
            path[-1].marks = rest.marks | {"used": self.tick(), "made": self.clock}
        return path

    def insert(self, tokens: Sequence[int], namespace: str, priority: int) -> int:
        pages, now = self.pages(tokens, namespace), self.tick()
        path = self.find(pages, now)
        for node in path:
            if node.is_end:
                node.marks["inserts"] += 1
                node.marks["priority"] = max(node.marks["priority"], priority)
        node = path[-1] if path else self.root
        for page in pages[len(path) :]:
            node.children[page] = Node(node, page[1:] if node is self.root else page)
            node = node.children[page]
        if len(pages) > len(path):
            node.is_end = True
            moment = self.tick()
            node.marks = {"used": moment, "made": moment, "inserts": 1, "priority": priority}
        return len(path) * self.size

    def match(self, tokens: Sequence[int], namespace: str) -> int:
        now = self.tick()
        return len(self.find(self.pages(tokens, namespace), now)) * self.size

    def lock(self, tokens: Sequence[int], namespace: str) -> list[Node]:
        now = self.tick()
        path = self.find(self.pages(tokens, namespace), now)
        for node in path:
            node.n_locks += 1
        return path

    def unlock(self, path: list[Node]) -> None:
        for node in path:
            node.n_locks -= 1

    def evict(self, n_tokens: int) -> list[tuple[int, ...]]:
        gone: list[tuple[int, ...]] = []
        while sum(map(len, gone)) < n_tokens:
            leaves = [node for node in self.nodes() if not node.children and not node.n_locks]
            if not leaves:
                break
            node, text = min(leaves, key=lambda leaf: self.rank(leaf.marks)), ()
            while node is not self.root and not node.children and (not text or not node.is_end):
                text = node.page + text
                parent = node.parent
                parent.children = {key: child for key, child in parent.children.items() if child is not node}
                node = parent
            gone.append(text)
        return gone

    def sizes(self) -> tuple[int, int]:
        nodes = list(self.nodes())
        return len(nodes) * self.size, sum(node.n_locks > 0 for node in nodes) * self.size
