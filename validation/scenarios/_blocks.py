"""Cases of kind ``blocks``: operations on the paged memory, each with what it must answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most
from sim.kvcache import Chains, KvMemory

from ._case import MOST, count, differences, only_keys, table, tokens, want

__all__ = ["check_blocks"]


def check_blocks(case: dict[str, Any]) -> list[str]:
    """Differences between what the operations of a case expect and what the memory does.

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
    >>> alloc = {"op": "alloc", "id": "A", "tokens": [{"seq": [0, 20]}], "expect": {"free": 2}}
    >>> check_blocks({"config": {"num_blocks": 4, "prefix_cache": False}, "ops": [alloc]})
    []
    """
    only_keys("case", case, ("config", "ops"))
    config = table("config", case.get("config", {}))
    only_keys("config", config, ("block_size", "num_blocks", "prefix_cache"))
    bench = _Bench(
        KvMemory(
            n_blocks=count("config", config, "num_blocks", 64),
            block_tokens=count("config", config, "block_size", 16),
            prefix_cache=want("config", config, "prefix_cache", bool, False),
        )
    )
    found = []
    for index, item in enumerate(want("case", case, "ops", list)):
        where = f"ops[{index}]"
        op = table(where, item)
        answer = bench.do(where, op)
        expected = table(f"{where}.expect", op.get("expect", {}))
        only_keys(f"{where}.expect", expected, _Bench.answers[op["op"]])
        found += differences(where, expected, answer)
        if (
            "refs" in expected
            and table(f"{where}.expect.refs", expected["refs"]).keys() != answer["refs"].keys()
        ):
            found.append(f"{where}.refs: expected {expected['refs']}, got {answer['refs']}")
    return found


class _Bench:
    """The memory, with the text of every owner."""

    fields: ClassVar[dict[str, tuple[str, ...]]] = {
        "alloc": ("id", "tokens", "salt"),
        "append": ("id", "tokens"),
        "free": ("id",),
        "fork": ("id", "new"),
        "match": ("tokens", "salt"),
        "refs": (),
        "free_order": (),
        "reset": (),
    }
    answers: ClassVar[dict[str, tuple[str, ...]]] = {
        "alloc": ("ok", "cached_tokens", "blocks", "evicted", "free"),
        "append": ("ok", "blocks", "new_blocks", "evicted", "free", "copied"),
        "free": ("free",),
        "fork": ("blocks", "free"),
        "match": ("cached_tokens",),
        "refs": ("refs",),
        "free_order": ("order",),
        "reset": ("ok",),
    }

    def __init__(self, memory: KvMemory) -> None:
        self._memory = memory
        self._chains = Chains(block_tokens=memory.block_tokens)
        self._text: dict[str, tuple[list[int], str]] = {}

    def do(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        """Run one operation."""
        name = want(where, op, "op", str)
        checks.one_of(f"{where}.op", name, self.fields)
        only_keys(where, op, ("op", "expect", *self.fields[name]))
        method: Callable[[str, dict[str, Any]], dict[str, Any]] = getattr(self, f"_{name}")
        return method(where, op)

    def _owner(self, where: str, op: dict[str, Any]) -> str:
        owner: str = want(where, op, "id", str)
        if owner not in self._text:
            raise ConfigError(f"{where}.id: {checks.shown(owner)} has no blocks")
        return owner

    def _alloc(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        memory, owner = self._memory, want(where, op, "id", str)
        text = tokens(f"{where}.tokens", op.get("tokens"))
        salt = want(where, op, "salt", str, "")
        if owner in self._text or not text:
            raise ConfigError(f"{where}: {checks.shown(owner)} has blocks already, or there are no tokens")
        chain = self._chains.extend([], text, salt=salt)
        hit = memory.lookup(chain, len(text))
        if memory.demand(hit, len(text)) > memory.n_free:
            return {"ok": False, "free": memory.n_free}
        growth = memory.open(owner, hit, len(text))
        self._text[owner] = text, salt
        self._publish(owner)
        return {
            "ok": True,
            "cached_tokens": len(hit) * memory.block_tokens,
            "blocks": memory.blocks(owner),
            "evicted": growth.evicted,
            "free": memory.n_free,
        }

    def _append(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        memory, owner = self._memory, self._owner(where, op)
        old, salt = self._text[owner]
        text = old + tokens(f"{where}.tokens", op.get("tokens"))
        at_most(MOST, **{f"{where}.tokens": len(text)})
        if memory.growth_demand(owner, len(old), len(text)) > memory.n_free:
            return {"ok": False, "free": memory.n_free}
        growth = memory.extend(owner, len(old), len(text))
        self._text[owner] = text, salt
        self._publish(owner)
        return {
            "ok": True,
            "blocks": memory.blocks(owner),
            "new_blocks": growth.new_blocks,
            "evicted": growth.evicted,
            "free": memory.n_free,
            "copied": [list(pair) for pair in growth.copied],
        }

    def _publish(self, owner: str) -> None:
        text, salt = self._text[owner]
        if self._memory.prefix_cache:
            self._memory.publish(owner, self._chains.extend([], text, salt=salt), len(text))

    def _free(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        owner = self._owner(where, op)
        self._memory.close(owner)
        del self._text[owner]
        return {"free": self._memory.n_free}

    def _fork(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        owner, new = self._owner(where, op), want(where, op, "new", str)
        self._memory.fork(owner, new)
        self._text[new] = self._text[owner]
        return {"blocks": self._memory.blocks(new), "free": self._memory.n_free}

    def _match(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        text = tokens(f"{where}.tokens", op.get("tokens"))
        chain = self._chains.extend([], text, salt=want(where, op, "salt", str, ""))
        return {"cached_tokens": len(self._memory.lookup(chain, len(text))) * self._memory.block_tokens}

    def _refs(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        return {"refs": {str(block): n for block, n in self._memory.pool.all_refs().items()}}

    def _free_order(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        return {"order": self._memory.pool.free_order()}

    def _reset(self, where: str, op: dict[str, Any]) -> dict[str, Any]:
        return {"ok": self._memory.pool.reset()}
