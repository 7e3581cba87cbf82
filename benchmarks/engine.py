"""Requests per CPU second of the engines, by policy; growth with the number of requests; memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from qtheory.system.hardware import find_hardware
from qtheory.system.memory import kv_blocks
from qtheory.system.models import find_model
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.steptime import Roofline
from qtheory.system.workload import TextRuns
from qtheory.system.workload.readers import read_requests
from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim.kvcache.texts import TextContents
from sim.policies import make_policy
from sim.replica import Replica

from .reference_loop import unit_cpu_s

SCHEDULERS = ("chunked", "fcfs", "slo", "sjf", "priority")
CALM_FRAC = 0.8
RATE_RPS = 10.0 * CALM_FRAC  # of what the replica below takes with a queue that never empties
SHARING_RATE_RPS = 15.0
CACHED_SCHEDULERS = ("chunked", "fcfs", "cache_aware", "fair")
MOONCAKE = Path("data/traces/mooncake_fast25_conversation.jsonl.gz")
BUDGET_TOKENS = {"fcfs": 32_768}


def requests_of(n: int, seed: int = 1) -> Requests:
    """Poisson arrivals, lognormal prompts (mean 1,000) and outputs (mean 200), a first-token limit of 2 s."""
    rng = np.random.default_rng(seed)
    prompt = rng.lognormal(np.log(1000) - 0.32, 0.8, n).clip(1, 16_000)
    output = rng.lognormal(np.log(200) - 0.245, 0.7, n).clip(1, 4_000)
    return Requests(
        arrival_s=np.cumsum(rng.exponential(1 / RATE_RPS, n)),
        prompt_tokens=prompt.astype(np.int64),
        output_tokens=output.astype(np.int64),
        ttft_slo_s=np.full(n, 2.0),
    )


def replica() -> Replica:
    """An A100 with Llama-3.1-8B."""
    hardware, model = find_hardware("a100"), find_model("llama-3.1-8b")
    return Replica(step_time=Roofline(hardware=hardware, model=model), n_blocks=kv_blocks(hardware, model))


def sharing_requests(n: int, seed: int = 1) -> Requests:
    """One of 8 system prompts of 1,000 tokens and 200 tokens of its own, 100 outputs; 10 clients."""
    rng = np.random.default_rng(seed)
    none = np.full(n, -1)
    runs = TextRuns(
        texts=rng.integers(0, 8, n),
        starts=np.zeros(n, dtype=np.int64),
        n_tokens=np.full(n, 1000),
        offsets=np.arange(n + 1),
        output_texts=none,
        output_starts=none + 1,
    )
    return Requests(
        arrival_s=np.cumsum(rng.exponential(1 / SHARING_RATE_RPS, n)),
        prompt_tokens=1000 + rng.geometric(1 / 200, n),
        output_tokens=rng.geometric(1 / 100, n),
        client=rng.integers(0, 10, n),
        text_runs=runs,
    )


def cpu_s(
    simulate: Callable[..., object],
    requests: Requests,
    scheduler: str,
    *,
    prefix_cache: bool = False,
    budget_tokens: int = 512,
) -> float:
    """CPU seconds of one run."""
    budget_tokens = BUDGET_TOKENS.get(scheduler, budget_tokens)
    spec = SchedulerSpec(name=scheduler, budget_tokens=budget_tokens, max_seqs=256)
    policy, where = make_policy(spec), replace(replica(), prefix_cache=prefix_cache)
    start = time.process_time()
    simulate(requests, policy, where)
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    n, unit_s = 100_000, unit_cpu_s()
    requests, few = requests_of(n), requests_of(2_000)
    print(f"reference loop: {unit_s * 1000:.1f} ms of CPU a pass; {n:,} requests, records kept")
    for name in SCHEDULERS:
        speed = n / min(cpu_s(engine.simulate, requests, name) for _ in range(3))
        slow = len(few) / cpu_s(reference.simulate, few, name)
        units = speed * unit_s
        print(f"{name}: {speed:.0f} requests per CPU second ({units:.0f} reference-loop units), ", end="")
        print(f"{speed / slow:.0f} times the reference engine")
    _print_cached(n)
    for size in (10_000, 100_000, 1_000_000):
        speed = size / cpu_s(engine.simulate, requests_of(size), "chunked")
        print(f"chunked, {size:,} requests: {speed:.0f} requests per CPU second")
    for size in (250_000, 1_000_000):
        print(f"chunked, {size:,} requests: {_bytes_a_request(size):.0f} bytes a request at the peak")


def _print_cached(n: int) -> None:
    requests, few = sharing_requests(n), sharing_requests(500)
    known = partial(reference.simulate, contents=TextContents.of(few))
    print(f"with a prefix cache, {n:,} requests that share 8 prompts of 1,000 tokens:")
    for name in CACHED_SCHEDULERS:
        speed = n / min(cpu_s(engine.simulate, requests, name, prefix_cache=True) for _ in range(3))
        slow = len(few) / cpu_s(known, few, name, prefix_cache=True)
        print(f"{name}: {speed:.0f} requests per CPU second, {speed / slow:.0f} times the reference engine")
    path = Path(os.environ.get("SHARED_DATA", "../shared")) / MOONCAKE
    if path.exists():
        trace = read_requests(path)
        for budget in (512, 2048):
            run = partial(cpu_s, engine.simulate, trace, "chunked", prefix_cache=True, budget_tokens=budget)
            speed = len(trace) / min(run() for _ in range(2))
            print(f"chunked, Mooncake trace, {budget} tokens a step: {speed:.0f} requests per CPU second")


def _bytes_a_request(n: int) -> float:
    code = f"from benchmarks.engine import grown_bytes; print(grown_bytes({n}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(shown.stdout) / n


def grown_bytes(n: int) -> int:
    """How far a run of ``n`` requests raises the peak of the resident memory of this process."""
    requests = requests_of(n)
    cpu_s(engine.simulate, requests_of(1_000), "chunked")
    before = _peak_bytes()
    cpu_s(engine.simulate, requests, "chunked")
    return _peak_bytes() - before


def _peak_bytes() -> int:
    """Largest resident memory so far; that of ``getrusage`` begins with the parent's on Linux."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return 1024 * int(lines["VmHWM"].split()[0])
