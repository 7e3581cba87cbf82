"""Random clusters, served by both engines, and what differs between them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from qtheory.system.cluster import ROUTERS, parse_router
from sim.cluster import Change, ClusterRecords, Member, simulate_cluster, why_reference
from sim.routing import make_router
from validation.engines import differences
from validation.engines.cases import PRESETS, draw_cached_case, draw_case

_ORDERS = ("cache_aware(cache_order=dfs-weight)", "slo(deadline_order=least_slack)", "slo(chunk_size=slack)")
_ROWS = (
    "sent_s", "status", "first_scheduled_s", "first_token_s", "finish_s", "n_preemptions", "cached_tokens",
    "recomputed_tokens",
)  # fmt: skip


def ignore(step: Any) -> None:
    """An observer that only asks for the reference engine."""


def draw_cluster(seed: int, *, cached: bool = False) -> dict[str, Any]:
    """Arguments of `simulate_cluster`: always the same ones for a seed."""
    rng = np.random.default_rng([seed, 2_027])
    schedulers: list[Any] = [(), (), PRESETS, ("fair", "cache_aware"), _ORDERS]
    some = schedulers[int(rng.integers(len(schedulers)))]
    case = (draw_cached_case if cached else draw_case)(seed, n=40, schedulers=some)
    n = int(rng.integers(1, 5))
    members = [Member(case.policy, case.replica)] * n
    changes = []
    if rng.random() < 0.3:
        at_s, index = float(rng.uniform(0, 15)), int(rng.integers(n))
        changes = [Change(at_s, index, str(rng.choice(["fail", "drain"])))]
        changes.append(Change(at_s + float(rng.choice([0.0, 1.0, 7.3])), index, "start"))
    elif rng.random() < 0.4:
        fewer = replace(case.policy, max_seqs=max(case.policy.max_seqs // 2, 1))
        members[0] = Member(fewer, replace(case.replica, n_blocks=case.replica.n_blocks + 7))
    name = str(rng.choice(sorted(ROUTERS)))
    return {
        "requests": case.requests,
        "members": members,
        "router": make_router(parse_router(name)),
        "client_cap": case.client_cap,
        "think_s": case.think_s,
        "until_s": case.until_s,
        "contents": case.contents,
        "load_delay_s": float(rng.choice([0.0, 0.0, 0.7])),
        "changes": changes,
        "seed": seed,
    }


def is_fast(asked: dict[str, Any]) -> bool:
    """Whether the fast engine will do."""
    return why_reference(asked["requests"], asked["members"], asked["changes"]) is None


def unequal(asked: dict[str, Any]) -> list[str]:
    """What differs between the engines."""
    observers = [ignore] * len(asked["members"])
    try:
        slow: ClusterRecords | str = simulate_cluster(**asked, observers=observers)
    except Exception as error:
        slow = type(error).__name__
    try:
        fast: ClusterRecords | str = simulate_cluster(**asked)
    except Exception as error:
        fast = type(error).__name__
    if isinstance(slow, str) or isinstance(fast, str):
        return [] if slow == fast else [f"{slow} against {fast}"]
    found = []
    for name in ("replica", "n_moves"):
        if getattr(slow, name).tolist() != getattr(fast, name).tolist():
            found.append(name)
    for name in _ROWS:
        one, other = getattr(slow.records, name).astype(float), getattr(fast.records, name).astype(float)
        if not np.allclose(one, other, rtol=1e-9, atol=1e-7, equal_nan=True):
            row = int(np.argmin(np.isclose(one, other, rtol=1e-9, atol=1e-7, equal_nan=True)))
            found.append(f"{name}: row {row}: {one[row]} against {other[row]}")
    if not math.isclose(slow.records.end_s, fast.records.end_s, abs_tol=1e-7):
        found.append(f"end_s: {slow.records.end_s} against {fast.records.end_s}")
    if slow.part_replica != fast.part_replica:
        return [*found, "parts"]
    for index, (one_part, other_part) in enumerate(zip(slow.parts, fast.parts, strict=True)):
        same_rows = {name: getattr(one_part, name) for name in _ROWS}
        said = differences(one_part, replace(other_part, **same_rows, end_s=one_part.end_s))
        found += [f"part {index}: {line}" for line in said]
    return found
