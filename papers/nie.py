"""Nie, Si, Zhou (2026): how much load a KV memory holds, and our limit where memory binds."""

from __future__ import annotations

from qtheory.predict import limit_rps
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of

from .table import Row, Table

__all__ = ["area", "tables"]

MEMORY_TOKENS, STEP_S = 100_000, 0.04
LENGTHS = ((500, 500), (1000, 500), (500, 1000), (1000, 200), (256, 256))
"""Prompt tokens, and decodes."""
PUBLISHED_RPS = {
    "one prompt token to one output token": ("3.263", "3.387", "3.66"),
    "two to one": ("3.956", "3.650", "8.38"),
    "one to two": ("2.902", "2.969", "2.25"),
    "mixed": ("3.385", "3.137", "7.90"),
    "LongBench v2": ("0.561", "0.610", "8.03"),
    "eight GPUs": ("25.81", "26.71", "3.38"),
}
"""Predicted and measured rate, and the distance in per cent that is stated."""


def area(prompt: float, decodes: float, chunk: float) -> float:
    """Tokens times steps that a request of these lengths holds, its prompt in chunks."""
    return 0.5 * ((1 + prompt / chunk) * prompt + 2 * prompt * decodes + (1 + decodes) * decodes)


def _world(prompt: int, decodes: int) -> tuple[ReplicaSpec, Workload]:
    """Steps of one length, memory counted by the token, no other limit."""
    scenario = Scenario(
        hardware="a100",
        model="llama-3.1-8b",
        scheduler="chunked",
        step_time=f"linear(base_s={STEP_S})",
        prompt=f"constant({prompt})",
        output=f"constant({decodes + 1})",
        budget_tokens=4096,
        max_seqs=4096,
        kv_blocks=MEMORY_TOKENS,
        block_tokens=1,
        rate_rps=1.0,
    )
    return replica_of(scenario), workload_of(scenario)


def _limit_row(prompt: int, decodes: int) -> Row:
    """Our limit beside theirs: above it nothing is stable, below it by a request at most all is."""
    rate_rps = MEMORY_TOKENS / (STEP_S * area(prompt, decodes, prompt))
    return Row(
        case=f"{prompt} + {decodes} tokens: limit, requests/s",
        source=f"{rate_rps:.4f}",
        ours=limit_rps(*_world(prompt, decodes)),
        origin="identity",
        within=rate_rps * (prompt + decodes) / MEMORY_TOKENS,
    )


def _decoding_row(prompt: int, decodes: int) -> Row:
    """The part of the area behind the prompt: mean context times decodes."""
    demand = demand_of(_world(prompt, decodes)[1])
    return Row(
        case=f"{prompt} + {decodes} tokens: tokens times steps of the decodes",
        source=f"{area(prompt, decodes, prompt) - prompt:.0f}",
        ours=demand.mean_context * demand.mean_decode,
        origin="identity",
    )


def _held_row(prompt: int, decodes: int) -> Row:
    """Requests that the memory holds while they decode, but for one that does not fit."""
    engine = engine_of(_world(prompt, decodes)[0], demand_of(_world(prompt, decodes)[1]))
    held = MEMORY_TOKENS * decodes / (area(prompt, decodes, prompt) - prompt)
    return Row(
        case=f"{prompt} + {decodes} tokens: requests in memory",
        source=f"{held:.2f}",
        ours=engine.kv_slots,
        origin="identity",
        within=1.0,
    )


def _published_row(case: str, predicted: str, measured: str, said: str) -> Row:
    """The distance of two rates that are rounded, which it can be off by."""
    ratio = float(predicted) / float(measured)
    unit = 10.0 ** -len(predicted.partition(".")[2])
    return Row(
        case=f"{case}: {predicted} predicted, {measured} measured, apart by %",
        source=said,
        ours=100 * abs(ratio - 1),
        origin="read",
        within=100 * 0.5 * unit * (1 + ratio) / float(measured) + 0.005,
    )


def tables() -> tuple[Table, ...]:
    """Areas, limits by them, and what the paper measured."""
    published = [_published_row(case, *numbers) for case, numbers in PUBLISHED_RPS.items()]
    return (
        Table(name="area", rows=tuple(_decoding_row(*each) for each in LENGTHS)),
        Table(name="held", rows=tuple(_held_row(*each) for each in LENGTHS)),
        Table(name="limits", rows=tuple(_limit_row(*each) for each in LENGTHS)),
        Table(name="published", rows=tuple(published)),
    )
