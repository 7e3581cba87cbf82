"""The table of speeds in the README: ``python -m benchmarks speed`` measures it and writes it there."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from qtheory.system.cluster import ROUTERS
from qtheory.system.workload.readers import read_requests
from sim import engine
from validation.trust import renewed

from .cluster import N_REPLICAS, routed_cpu_s, routed_requests
from .engine import (
    CACHED_SCHEDULERS,
    CALM_FRAC,
    MOONCAKE,
    SCHEDULERS,
    cpu_s,
    requests_of,
    sharing_requests,
)
from .reference_loop import unit_cpu_s

README = Path(__file__).parents[1] / "README.md"
_N, _ROUTED, _REPEATS = 50_000, 50_000, 3
_OVERLOAD = 1.5  # of what one replica takes with a queue that never empties

Row = tuple[str, str, int, Callable[[], float]]  # what, of what, requests, CPU seconds of one run


def rows() -> Iterator[Row]:
    """What is measured, in the order of the table."""
    plain = requests_of(_N)
    for name in SCHEDULERS:
        run = partial(cpu_s, engine.simulate, plain, name)
        yield "one replica", name, _N, run
    for n in (_N // 5, _N):
        calm = requests_of(n)
        crowd = replace(calm, arrival_s=calm.arrival_s * CALM_FRAC / _OVERLOAD)
        run = partial(cpu_s, engine.simulate, crowd, "chunked")
        yield "one replica, overloaded", f"chunked, {n:,} requests", n, run
    shared = sharing_requests(_N)
    for name in CACHED_SCHEDULERS:
        run = partial(cpu_s, engine.simulate, shared, name, prefix_cache=True)
        yield "prefix cache, 8 shared prompts", name, _N, run
    path = Path(os.environ.get("SHARED_DATA", "../shared")) / MOONCAKE
    if path.exists():
        trace = read_requests(path)
        for budget in (512, 2048):
            run = partial(cpu_s, engine.simulate, trace, "chunked", prefix_cache=True, budget_tokens=budget)
            yield "prefix cache, Mooncake trace", f"chunked, {budget:,} tokens a step", len(trace), run
    stream = routed_requests(_ROUTED)
    for router in ROUTERS:
        yield f"{N_REPLICAS} replicas", router, _ROUTED, partial(routed_cpu_s, stream, router)


def main() -> None:
    """Measure all rows, print them and put the table into the README."""
    groups: dict[str, list[str]] = {}
    units = []
    for what, which, n, run in rows():
        pairs = [(unit_cpu_s(1), run()) for _ in range(_REPEATS)]  # side by side, for a core's speed wanders
        unit_s, run_s = (min(each) for each in zip(*pairs, strict=True))
        units.append(unit_s)
        groups.setdefault(what, []).append(f"{which} {n / run_s:,.0f} ({n * unit_s / run_s:,.0f})")
        print(f"{what}: {groups[what][-1]}", flush=True)
    said = (
        f"Requests per CPU second, in brackets per pass of the loop, which took {1000 * min(units):.0f} to "
        f"{1000 * max(units):.0f} ms of CPU (Python {platform.python_version()}):"
    )
    lines = [f"| {what} | {', '.join(found)} |" for what, found in groups.items()]
    table = "\n".join([said, "", "| | |", "| --- | --- |", *lines])
    README.write_text(renewed(README.read_text(encoding="utf-8"), {"speed": table}), encoding="utf-8")
