"""Agrawal et al. (2024): prompts in chunks beside decodes; what chunks cost, from measured steps."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import nnls

from qtheory.predict import limit_rps
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import Linear, StepLoad
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of

from .table import Row, Table

__all__ = ["chunked_s", "one_pass_line", "tables"]

ONE_PASS_MS = (
    (512, 105.58), (1024, 214.30), (2048, 366.03), (4096, 757.60), (8192, 1863.26), (16384, 4407.50),
    (2047, 378.13), (4095, 775.44), (8191, 1754.16), (16383, 4535.00),
)  # fmt: skip
"""Prompt tokens and milliseconds of one pass: Yi-34B on two A100 80GB PCIe, two series of measurements."""
IN_CHUNKS_MS = {
    (2047, 512): "435.68",
    (2047, 1024): "444.17",
    (4095, 512): "921.96",
    (4095, 1024): "932.26",
    (4095, 2048): "793.90",
}
"""Prompt, chunk, and milliseconds of all chunks together."""
_FIT_FRAC = 0.1  # the worst error of the line on single passes is 9.2 %
LENGTHS = (1700, 200)
_BUDGETS = (512, 2048)


@cache
def one_pass_line() -> Linear:
    """Base, time a token and time a pair of tokens that meet the single passes best, by relative error."""
    tokens, took_ms = np.array(ONE_PASS_MS).T
    terms = np.column_stack([np.ones_like(tokens), tokens, tokens * (tokens + 1) / 2])
    base, token, pair = nnls(terms / took_ms[:, None], np.ones_like(took_ms))[0] / 1e3
    return Linear(base_s=float(base), per_token_s=float(token), per_work_s=float(pair))


def chunked_s(prompt_tokens: int, chunk_tokens: int) -> float:
    """Seconds of all steps of a prompt that is computed alone, in chunks."""
    total, line = 0.0, one_pass_line()
    for done in range(0, prompt_tokens, chunk_tokens):
        new = min(chunk_tokens, prompt_tokens - done)
        work = new * done + new * (new + 1) / 2
        total += line.step_s(StepLoad(prefill_tokens=new, prefill_work=work, n_sampled=1))
    return total


def _world(budget_tokens: int) -> tuple[ReplicaSpec, Workload]:
    line = one_pass_line()
    scenario = Scenario(
        hardware="a100",
        model="llama-3.1-8b",
        scheduler="chunked",
        step_time=f"linear(base_s={line.base_s!r},per_token_s={line.per_token_s!r})",
        prompt=f"constant({LENGTHS[0]})",
        output=f"constant({LENGTHS[1] + 1})",
        budget_tokens=budget_tokens,
        max_seqs=4096,
        kv_blocks=1_000_000,
        rate_rps=1.0,
    )
    return replica_of(scenario), workload_of(scenario)


def _limit_row(budget_tokens: int) -> Row:
    """Room for prompts in a full step, over its time and the prompt."""
    prompt, decodes = LENGTHS
    line = one_pass_line()
    room = budget_tokens * prompt / (prompt + decodes)
    rate_rps = room / (prompt * (line.base_s + line.per_token_s * budget_tokens))
    return Row(
        case=f"{prompt} + {decodes} tokens, budget {budget_tokens}: limit, requests/s",
        source=f"{rate_rps:.5f}",
        ours=limit_rps(*_world(budget_tokens)),
        origin="identity",
    )


def tables() -> tuple[Table, ...]:
    """Prompts in one pass and in chunks, and the limit by the budget."""
    line = one_pass_line()
    passes = [
        Row(
            case=f"{tokens} tokens in one pass, ms",
            source=f"{took_ms:.2f}",
            ours=1e3 * line.step_s(StepLoad(prefill_tokens=tokens, prefill_work=tokens * (tokens + 1) / 2)),
            origin="measured",
            within=_FIT_FRAC * took_ms,
        )
        for tokens, took_ms in ONE_PASS_MS
    ]
    chunks = [
        Row(
            case=f"{prompt} tokens in chunks of {chunk}, ms",
            source=said,
            ours=1e3 * chunked_s(prompt, chunk),
            origin="measured",
            within=_FIT_FRAC * float(said),
        )
        for (prompt, chunk), said in IN_CHUNKS_MS.items()
    ]
    return (
        Table(name="passes", rows=tuple(passes)),
        Table(name="chunks", rows=tuple(chunks)),
        Table(name="limits", rows=tuple(_limit_row(budget) for budget in _BUDGETS)),
    )
