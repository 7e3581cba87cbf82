"""The simulated numbers in the tests of predictions, made again.

``python -m tests.qtheory.predict.simulated`` prints all of them, with a name only those whose name begins so:
``limit`` and ``clumps`` stand in test_scarce_memory, ``shed`` in test_thinned, ``starved`` in test_starved,
``dealt`` in test_apart, ``gaps`` in test_overload.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from qtheory.system.scenario import Scenario
from validation.agreement.capacity import overload_rps
from validation.answer import Study, run

_MOE = Scenario(hardware="h100", model="qwen3-30b-a3b")
_CODE = replace(_MOE, workload="code", kv_blocks=3828)
_CHAT = replace(_MOE, workload="chat", kv_blocks=2739)
_RAG = Scenario(hardware="a100", model="qwen2.5-14b", workload="rag", kv_blocks=8128)
_SLO = Scenario(model="llama-3.1-8b", scheduler="slo", kv_blocks=100_000, requests=20_000)
_GAMMA = "gamma(cv=2)"


def _limit(scenario: Scenario, scheduler: str, n_requests: int) -> str:
    """Requests a second while a queue never empties."""
    found = overload_rps(replace(scenario, scheduler=scheduler), n_requests=n_requests)
    return f"{found.limit_rps:.4g} +- {2 * found.limit_error_rps:.2g} req/s"


def _clumps(scenario: Scenario) -> str:
    """Steps with prompts to steps of decodes alone, of the middle half of a queue that never empties."""
    asked = replace(scenario, scheduler="fcfs", rate_rps=1e4, requests=15_000)
    [records] = run(asked, study=Study(n_replications=1, keep_records=True)).records
    steps = records.steps
    first, last = (steps.start_s[0] + share * (steps.end_s[-1] - steps.start_s[0]) for share in (0.25, 0.75))
    inside = (steps.start_s >= first) & (steps.end_s <= last)
    prompts = int(steps.n_steps[inside & (steps.prefill_tokens > 0)].sum())
    return f"{prompts / int(steps.n_steps[inside & (steps.prefill_tokens == 0)].sum()):.4g}"


def _served(scenario: Scenario, n_runs: int) -> str:
    """Shares, and latencies of those that are served."""
    found = run(scenario, study=Study(n_replications=n_runs)).result
    return (
        f"shed {found.n_shed / found.n_requests:.4f}, good {found.goodput_frac:.3f}, mean TTFT "
        f"{found.mean_ttft_s:.4g} s, p99 {found.p99_ttft_s:.4g} s, mean TPOT {found.mean_tpot_s:.4g} s"
    )


def _shed(hardware: str, workload: str, rate_rps: float, **changes: object) -> str:
    scenario = replace(_SLO, hardware=hardware, workload=workload, rate_rps=rate_rps)
    return _served(replace(scenario, **changes), 4)  # type: ignore[arg-type]


_STARVED = Scenario(
    hardware="h100",
    model="llama-3.1-8b",
    workload="summarize",
    scheduler="sjf",
    rate_rps=11.5,
    requests=60_000,
)
_DEALT = Scenario(
    hardware="l4",
    model="llama-3.2-1b",
    workload="rag",
    scheduler="disaggregated(max_seqs=64)",
    prefill_replicas=3,
    arrivals=_GAMMA,
    rate_rps=10.7,
    requests=6_000,
)


def _gaps(workload: str, scheduler: str, rate_rps: float) -> str:
    """Percentiles of the gaps between tokens, above the limit."""
    asked = Scenario(
        model="llama-3.1-8b", workload=workload, scheduler=scheduler, rate_rps=rate_rps, requests=3_000
    )
    found = run(asked, study=Study(n_replications=2)).result
    gaps_s = found.p50_itl_s, found.p90_itl_s, found.p95_itl_s
    return ", ".join(f"{gap_s:.4g}" for gap_s in gaps_s) + " s"


_MADE: dict[str, Callable[[], str]] = {
    "limit, code, fcfs": lambda: _limit(_CODE, "fcfs", 60_000),
    "limit, chat, fcfs": lambda: _limit(_CHAT, "fcfs", 60_000),
    "limit, code, chunked": lambda: _limit(_CODE, "chunked", 60_000),
    "limit, rag, chunked": lambda: _limit(_RAG, "chunked", 60_000),
    "clumps, code": lambda: _clumps(_CODE),
    "clumps, chat": lambda: _clumps(_CHAT),
    "shed, l4, rag": lambda: _shed("l4", "rag", 1.2, budget_tokens=512),
    "shed, a100, code": lambda: _shed("a100", "code", 6.0, budget_tokens=512, arrivals=_GAMMA),
    "shed, full places": lambda: _shed("h100", "chat", 22.0, model="qwen3-30b-a3b"),
    "shed, reasoning": lambda: _shed(
        "h100", "reasoning", 0.640, model="qwen3-30b-a3b", kv_blocks=200_000, arrivals=_GAMMA
    ),
    "starved": lambda: _served(_STARVED, 3),
    "dealt": lambda: _served(_DEALT, 4),
    "gaps, rag, chunked": lambda: _gaps("rag", "chunked", 4.5),
    "gaps, chat, chunked": lambda: _gaps("chat", "chunked", 11.7),
    "gaps, chat, fcfs": lambda: _gaps("chat", "fcfs", 11.4),
}


def main(prefix: str = "") -> None:
    """Print those whose name begins so."""
    for name, made in _MADE.items():
        if name.startswith(prefix):
            print(f"{name}: {made()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
