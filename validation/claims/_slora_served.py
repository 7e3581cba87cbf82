"""S-LoRA's server with adapters, calibrated below its limit, and one finite run of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from sim import engine
from sim.job import JobView
from sim.policies.ordering import LastCome

from ._distserve_data import FittedStep
from ._lightllm import lightllm, pool
from ._slora_rows import SCRIPT_SEED, Row, adapter_tokens, drawn
from ._vtc_runs import read_runs
from ._vtc_steps import step_of

__all__ = ["KEEPS_UP", "SLO_S", "Run", "Steps", "light_rows", "served", "servers"]

SLO_S = 6.0
"""Seconds within which a first token counts as in time (metric.py)."""

KEEPS_UP = 0.95
"""Share in time below the limit."""

_POOL_TOKENS = {"A10G 24GB": 14_500, "A100 80GB": 65_000}  # exp_cmds.sh
_AHEAD_S = 0.5  # abort_req_queue.py
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class _GivesUp:
    """Who would have waited too long in half a second is given up."""

    action: ClassVar[str] = "reject"

    def is_late(self, job: JobView, now_s: float, alone_s: float) -> bool:
        return now_s - job.arrival_s + _AHEAD_S >= SLO_S


class Run(NamedTuple):
    """Mean seconds of those served, and the share of all whose first token came in time."""

    ttft_s: float
    e2e_s: float
    in_time_frac: float


class Steps(NamedTuple):
    """Step times without adapters and with them."""

    plain: FittedStep
    slowed: FittedStep


def servers(rows: Sequence[Row], folder: Path) -> tuple[dict[tuple[str, str], Steps], list[str]]:
    """Step times of each group of rows that can be calibrated, and notes on all groups."""
    plain, found, notes = _plain_steps(folder), {}, []
    for group in dict.fromkeys(row.group for row in rows):
        own = [row for row in rows if row.group == group]
        name = f"{own[0].gpu}, setting {own[0].setting}"
        light = light_rows(own)
        step = plain.get((own[0].gpu, _size(own[0].model)))
        if step is None or own[0].gpu not in _POOL_TOKENS or not light:
            why = "no run without adapters tells its steps" if step is None else "no rate is below the limit"
            notes.append(f"{name}: left out, as {why}")
            continue
        slower = _factor(light, step)
        found[group] = Steps(plain=step, slowed=_scaled(step, slower))
        notes.append(f"{name}: steps with adapters take {slower:.3f} times those without")
    return found, notes


def _plain_steps(folder: Path) -> dict[tuple[str, str], FittedStep]:
    """Steps of the same server without adapters, by accelerator and size of the model."""
    runs = [run for run in read_runs(folder)[0] if run.policy == "FCFS"]
    servers = dict.fromkeys(run.server for run in runs)
    return {
        (gpu, _size(model)): step_of([run for run in runs if run.server == (gpu, model)])[0]
        for gpu, model in servers
    }


def _size(model: str) -> str:
    found = re.search(r"(\d+)b\b", model.lower())
    return found[1] if found else model


def light_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows in order of arrival of a sweep of the rate, whose first tokens came in time."""
    own = [row for row in rows if row.policy == "slora"]
    swept = {row.sweep for row in own if any(row.rate_rps < each.rate_rps for each in own)}
    return [row for row in own if row.sweep in swept and row.in_time_frac >= KEEPS_UP]


def _factor(rows: Sequence[Row], step: FittedStep) -> float:
    """By how much slower steps give the measured time per token, in the mean over the rows."""
    factor, once = 1.0, list({(row.rate_rps, row.cv): row for row in rows}.values())
    for _ in range(_ROUNDS):
        found = {row: served(row, Steps(plain=step, slowed=_scaled(step, factor))) for row in once}
        per_token = {(row.rate_rps, row.cv): run.e2e_s - run.ttft_s for row, run in found.items()}
        ratios = [(row.e2e_s - row.ttft_s) / per_token[row.rate_rps, row.cv] for row in rows]
        factor *= float(np.exp(np.mean(np.log(ratios))))
    return factor


def _scaled(step: FittedStep, factor: float) -> FittedStep:
    (a, b, c), (base, context, each) = step.prefill, step.small
    line = (factor * base, factor * context, factor * each)
    prefill = (factor * a, factor * b, factor * c)
    return FittedStep(prefill=prefill, small=line, large=line, threshold=0)


def served(row: Row, steps: Steps, seed: int = SCRIPT_SEED) -> Run:
    """One run to its end."""
    gives_up = row.policy == "abort"
    asked = drawn(row, seed, slo_s=SLO_S if gives_up else np.inf)
    n_tokens = _POOL_TOKENS[row.gpu]
    policy = lightllm(
        n_tokens,
        LastCome() if row.policy == "lifo" else None,
        shed=_GivesUp() if gives_up else None,
        adapter_tokens=adapter_tokens(row),
    )
    step = steps.slowed if row.n_adapters else steps.plain
    records = engine.simulate(asked, policy, pool(step, n_tokens))
    ttft_s = records.first_token_s - asked.arrival_s
    return Run(
        ttft_s=float(np.nanmean(ttft_s)),
        e2e_s=float(np.nanmean(records.finish_s - asked.arrival_s)),
        in_time_frac=float(np.mean(ttft_s < SLO_S)),  # NaN is not
    )
