"""Requests per CPU second of 8 replicas behind a router, by router, and beside the reference engine."""

from __future__ import annotations

import time
from dataclasses import replace

from qtheory.system.cluster import ROUTERS, parse_router
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim.cluster import Member, simulate_cluster
from sim.observe import Iteration
from sim.policies import make_policy
from sim.routing import make_router

from .engine import replica, requests_of
from .reference_loop import unit_cpu_s

N_REPLICAS = 8


def _ignore(step: Iteration) -> None:
    """An observer that only asks for the reference engine."""


def routed_cpu_s(requests: Requests, name: str, *, is_reference: bool = False) -> float:
    """CPU seconds of one run."""
    policy = make_policy(SchedulerSpec(name="chunked", budget_tokens=512, max_seqs=256))
    members = [Member(policy, replica())] * N_REPLICAS
    observers = [_ignore] * N_REPLICAS if is_reference else []
    start = time.process_time()
    simulate_cluster(requests, members, make_router(parse_router(name)), observers=observers)
    return time.process_time() - start


def routed_requests(n: int) -> Requests:
    """As for one replica, eight times as dense: each at 0.8 of what it takes."""
    requests = requests_of(n)
    return replace(requests, arrival_s=requests.arrival_s / N_REPLICAS)


def main() -> None:
    """Print the table."""
    n, unit_s = 50_000, unit_cpu_s()
    requests, few = routed_requests(n), routed_requests(1_000)
    print(f"reference loop: {unit_s * 1000:.1f} ms of CPU a pass; {N_REPLICAS} replicas, {n:,} requests")
    for name in ROUTERS:
        speed = n / min(routed_cpu_s(requests, name) for _ in range(3))
        print(f"{name}: {speed:.0f} requests per CPU second ({speed * unit_s:.0f} reference-loop units)")
    speed = len(few) / routed_cpu_s(few, "least_requests", is_reference=True)
    print(f"least_requests on the reference engine: {speed:.0f} requests per CPU second")
