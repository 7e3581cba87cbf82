"""Cases of kind ``route``: workers as a router sees them, and where it sends each request."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from sim.kvcache import Chains
from sim.routing import (
    Asked,
    CacheAware,
    Candidate,
    ExploitExplore,
    Freeness,
    KvCost,
    LeastRequests,
    LeastTokens,
    Load,
    RoundRobin,
    Router,
    Routing,
)

from ._case import count, differences, number, only_keys, table, tokens, want

__all__ = ["check_route"]

Table = dict[str, Any]
_ANSWERS = ("choice", "loads", "cost", "free_steps", "mode")


def check_route(case: Table) -> list[str]:
    """Differences between what a case expects and what its router does.

    Parameters
    ----------
    case : dict
        With ``config``, ``input`` and ``expect``.

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
    >>> workers = [{"id": "a", "load": 2}, {"id": "b", "load": 1}]
    >>> given = {"workers": workers, "requests": [{"id": "x", "prompt": [{"seq": [0, 8]}]}]}
    >>> check_route({"config": {"policy": "cache_aware"}, "input": given, "expect": {"choice": ["a"]}})
    ['cache_aware.choice[0]: expected a, got b']
    """
    only_keys("case", case, ("config", "input", "expect"))
    config = table("config", case.get("config", {}))
    policy = want("config", config, "policy", str)
    checks.one_of("config.policy", policy, _POLICIES)
    run, options, keys = _POLICIES[policy]
    only_keys("config", config, ("policy", *options))
    given = want("case", case, "input", dict)
    only_keys("input", given, keys)
    expect = want("case", case, "expect", dict)
    only_keys("expect", expect, _ANSWERS)
    chosen = {key: number("config", config, key) for key in options if key in config}
    return differences(policy, _finite(expect), run(chosen, given))


def _finite(expect: Table) -> Table:
    """An infinite figure may be written as null, for which JSON has a word."""
    steps = expect.get("free_steps")
    if not isinstance(steps, dict):
        return expect
    return expect | {"free_steps": {key: math.inf if n is None else n for key, n in steps.items()}}


def _workers(
    given: Table, numbers: Sequence[str], optional: Sequence[str] = (), *, more: Sequence[str] = ()
) -> list[tuple[str, Table]]:
    """Ids and numbers of each worker (0 where an ``optional`` one is missing); ``more`` is read elsewhere."""
    found = []
    for index, item in enumerate(want("input", given, "workers", list)):
        where = f"input.workers[{index}]"
        row = table(where, item)
        only_keys(where, row, ("id", *numbers, *optional, *more))
        values = {key: number(where, row, key) for key in numbers}
        values |= {key: number(where, row, key, 0.0) for key in optional}
        found.append((want(where, row, "id", str), values))
    ids = [name for name, _ in found]
    if not ids or len(set(ids)) < len(ids):
        raise ConfigError("input.workers: there must be at least one, each with an id of its own")
    return found


# ---- routers that follow a stream of requests


@dataclass(slots=True)
class _Worker:
    index: int
    load: Load = field(default_factory=Load)

    def cached_tokens(self, asked: Asked) -> int:
        """Not known: these routers remember what they have sent."""
        return 0


@dataclass(frozen=True, slots=True)
class _Prompt:
    keys: list[int]
    block_tokens: int = 1

    @property
    def prompt_tokens(self) -> int:
        return len(self.keys)

    @property
    def shared_keys(self) -> list[int]:
        return self.keys

    @property
    def may_be_cached(self) -> bool:
        return bool(self.keys)


def _stream(make: Callable[..., Router]) -> Callable[[Table, Table], Table]:
    def run(options: Table, given: Table) -> Table:
        rows = _workers(given, (), ("load",), more=("cached",))
        workers = [_Worker(index, _load(values["load"])) for index, (_, values) in enumerate(rows)]
        chains = Chains(block_tokens=1)
        routing = make(**options).begin(np.random.default_rng(0))
        if make is CacheAware:
            _fill(routing, given, workers, chains)
        choice = []
        for index, item in enumerate(want("input", given, "requests", list)):
            where = f"input.requests[{index}]"
            row = table(where, item)
            only_keys(where, row, ("id", "prompt", "prompt_len"))
            prompt = _prompt(where, row, chains, index)
            place = routing.choose(prompt, workers)
            load = workers[place].load
            workers[place].load = replace(
                load, n_requests=load.n_requests + 1, n_tokens=load.n_tokens + prompt.prompt_tokens
            )
            choice.append(rows[place][0])
        per_token = make is LeastTokens
        loads = [worker.load.n_tokens if per_token else worker.load.n_requests for worker in workers]
        return {"choice": choice, "loads": dict(zip((name for name, _ in rows), loads, strict=True))}

    return run


def _load(value: float) -> Load:
    if value < 0 or value != int(value):
        raise ConfigError(f"input.workers: load {value:g} must be a whole number >= 0")
    return Load(n_requests=int(value), n_tokens=int(value))


def _prompt(where: str, row: Table, chains: Chains, index: int) -> _Prompt:
    if "prompt" in row:
        text = tokens(f"{where}.prompt", row["prompt"])
    else:
        n = count(where, row, "prompt_len")
        text = list(range(-((index + 1) << 32) - n, -((index + 1) << 32)))  # occur nowhere else
    if not text:
        raise ConfigError(f"{where}: a prompt of no tokens")
    return _Prompt(chains.extend([], text))


def _fill(routing: Routing, given: Table, workers: list[_Worker], chains: Chains) -> None:
    """What each worker has cached is what was sent to it before."""
    for worker, row in zip(workers, given["workers"], strict=True):
        where = f"input.workers[{worker.index}].cached"
        for text in want(where, row, "cached", list, []):
            keys = chains.extend([], tokens(where, text))
            if keys:
                routing.choose(_Prompt(keys), [worker])


# ---- routers that weigh one request


def _kv_cost(options: Table, given: Table) -> Table:
    rows = _workers(given, ("decode_blocks",), ("overlap_blocks",))
    costs = KvCost(**options).costs(
        request_blocks=number("input", given, "request_blocks"),
        overlap_blocks=[values["overlap_blocks"] for _, values in rows],
        decode_blocks=[values["decode_blocks"] for _, values in rows],
    )
    names = [name for name, _ in rows]
    return {"cost": dict(zip(names, costs, strict=True)), "choice": names[costs.index(min(costs))]}


def _freeness(options: Table, given: Table) -> Table:
    rows = _workers(given, ("total_blocks", "used_blocks", "running"), ("waiting_blocks",))
    steps = [Freeness().free_steps(n_running=values.pop("running"), **values) for _, values in rows]
    names = [name for name, _ in rows]
    return {"free_steps": dict(zip(names, steps, strict=True)), "choice": names[steps.index(max(steps))]}


def _exploit_explore(options: Table, given: Table) -> Table:
    rows = _workers(given, ("load",), ("cached", "evict_cost"))
    names = [name for name, _ in rows]
    candidates = [Candidate(row["load"], row["cached"], row["evict_cost"]) for _, row in rows]
    router = ExploitExplore(prefill_s_per_token=number("input", given, "prefill_time_per_token"), **options)
    found = router.decide(number("input", given, "prompt_tokens"), candidates)
    return {
        "mode": found.mode,
        "choice": names[found.place],
        "cost": dict(zip(names, found.costs_s, strict=True)),
    }


_STREAM = ("workers", "requests")
_POLICIES: dict[str, tuple[Callable[[Table, Table], Table], tuple[str, ...], tuple[str, ...]]] = {
    "cache_aware": (
        _stream(CacheAware),
        ("cache_threshold", "balance_abs_threshold", "balance_rel_threshold"),
        _STREAM,
    ),
    "round_robin": (_stream(RoundRobin), (), _STREAM),
    "least_requests": (_stream(LeastRequests), (), _STREAM),
    "least_tokens": (_stream(LeastTokens), (), _STREAM),
    "kv_cost": (_kv_cost, ("overlap_weight",), ("request_blocks", "workers")),
    "freeness": (_freeness, (), ("workers",)),
    "exploit_explore": (
        _exploit_explore,
        ("balance_ratio",),
        ("prompt_tokens", "prefill_time_per_token", "workers"),
    ),
}
