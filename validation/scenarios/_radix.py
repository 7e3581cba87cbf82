"""Cases of kind ``radix``: operations on a radix tree of tokens, each with what it must answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from sim.kvcache import EVICTIONS, Hold, RadixTree

from ._case import count, differences, only_keys, table, tokens, want

__all__ = ["check_radix"]


def check_radix(case: dict[str, Any]) -> list[str]:
    """Differences between what the operations of a case expect and what the tree does.

    Parameters
    ----------
    case : dict
        With ``config`` and ``ops``.

    Returns
    -------
    list of str
        Empty if the case holds.

    Raises
    ------
    ServingError
        If the case cannot be read.

    Examples
    --------
    >>> insert = {"op": "insert", "tokens": [{"seq": [0, 20]}], "expect": {"already": 0, "added": 20}}
    >>> check_radix({"config": {"page_size": 8}, "ops": [insert]})
    ['ops[0].added: expected 20, got 16']
    """
    only_keys("case", case, ("config", "ops"))
    config = table("config", case.get("config", {}))
    only_keys("config", config, ("page_size", "eviction"))
    eviction = want("config", config, "eviction", str, "lru")
    checks.one_of("config.eviction", eviction, EVICTIONS)
    page = count("config", config, "page_size", 1)
    checks.integer(**{"config.page_size": page})
    bench = _Bench(RadixTree(page_tokens=page, eviction=eviction))
    found = []
    for index, item in enumerate(want("case", case, "ops", list)):
        where = f"ops[{index}]"
        op = table(where, item)
        answer = bench.do(where, op)
        expected = table(f"{where}.expect", op.get("expect", {}))
        only_keys(f"{where}.expect", expected, answer)
        found += differences(where, expected, answer)
    return found


class _Bench:
    """The tree, with the locks by name."""

    fields: ClassVar[dict[str, tuple[str, ...]]] = {
        "insert": ("tokens", "namespace", "priority"),
        "match": ("tokens", "namespace"),
        "lock": ("name", "tokens", "namespace"),
        "unlock": ("name", "tokens", "namespace"),
        "evict": ("tokens_needed",),
        "size": (),
    }

    def __init__(self, tree: RadixTree) -> None:
        self._tree = tree
        self._holds: dict[str, Hold] = {}

    def do(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        """Run one operation; every answer tells the sizes of the tree after it as well."""
        name = want(where, op, "op", str)
        checks.one_of(f"{where}.op", name, self.fields)
        only_keys(where, op, ("op", "expect", *self.fields[name]))
        method: Callable[[str, dict[str, Any]], dict[str, Any]] = getattr(self, f"_{name}")
        answer = method(where, op)
        return answer | {
            "total": self._tree.n_tokens,
            "evictable": self._tree.evictable_tokens,
            "protected": self._tree.protected_tokens,
        }

    def _text(self, where: str, op: dict[str, Any]) -> tuple[list[int], str]:
        namespace = want(where, op, "namespace", str, "")
        return tokens(f"{where}.tokens", op.get("tokens")), namespace

    def _insert(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        text, namespace = self._text(where, op)
        before = self._tree.n_tokens
        priority = want(where, op, "priority", int, 0)
        found = self._tree.insert(text, namespace=namespace, priority=priority)
        return {"already": found, "added": self._tree.n_tokens - before}

    def _match(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        text, namespace = self._text(where, op)
        return {"matched": self._tree.match(text, namespace=namespace)}

    def _lock(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        text, namespace = self._text(where, op)
        name = want(where, op, "name", str)
        if name in self._holds:
            raise ConfigError(f"{where}.name: {checks.shown(name)} holds a lock already")
        self._holds[name] = self._tree.lock(text, namespace=namespace)
        return {"matched": self._holds[name].n_tokens}

    def _unlock(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        name = want(where, op, "name", str)
        if name not in self._holds:
            raise ConfigError(f"{where}.name: {checks.shown(name)} holds no lock")
        self._tree.unlock(self._holds.pop(name))
        return {}

    def _evict(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        gone = self._tree.evict(want(where, op, "tokens_needed", int))
        return {"freed": sum(map(len, gone)), "removed": [list(run) for run in gone]}

    def _size(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        return {}
