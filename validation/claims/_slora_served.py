"""S-LoRA's server with adapters, calibrated below its limit, and one finite run of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from sim import engine
from sim.job import JobView
from sim.policies.ordering import LastCome
from sim.policies.pieces import DynamicOrdering, Ordering

from ._distserve_data import FittedStep
from ._lightllm import lightllm, pool
from ._lightllm_loop import served_in_order
from ._slora_order import RushOrder
from ._slora_rows import SCRIPT_SEED, Row, adapter_tokens, drawn
from ._vtc_runs import read_runs
from ._vtc_steps import step_of

__all__ = ["KEEPS_UP", "SLO_S", "Run", "Steps", "drawn_anew", "light_rows", "served", "servers"]

SLO_S = 6.0
"""Seconds within which a first token counts as in time (metric.py)."""

KEEPS_UP = 0.95
"""Share in time below the limit."""

_POOL_TOKENS = {"A10G 24GB": 14_500, "A100 80GB": 65_000}  # exp_cmds.sh
_AHEAD_S = 0.5  # abort_req_queue.py
_ROUNDS = 10
_ORDERS: dict[str, Ordering | DynamicOrdering] = {"lifo": LastCome(), "abort": RushOrder()}


@dataclass(frozen=True, slots=True)
class _GivesUp:
    """Who would have waited too long in half a second is given up."""

    action: ClassVar[str] = "reject"

    def is_late(self, job: JobView, now_s: float, alone_s: float) -> bool:
        return now_s - job.arrival_s + _AHEAD_S >= SLO_S


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetching:
    """A step in which each prompt waits so long for its adapter."""

    step: FittedStep
    prompt_s: float

    def step_s(self, load: StepLoad) -> float:
        return self.step.step_s(load) + self.prompt_s * (load[5] - load[0])

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        return self.step.decode_line(n_decodes)


class Run(NamedTuple):
    """Mean seconds of those served, and the share of all whose first token came in time."""

    ttft_s: float
    e2e_s: float
    in_time_frac: float


class Steps(NamedTuple):
    """Step times without adapters and with them, and the seconds in which an adapter comes."""

    plain: FittedStep
    slowed: FittedStep
    fetch_s: float = 0.0


def servers(rows: Sequence[Row], folder: Path) -> tuple[dict[tuple[str, str, bool], Steps], list[str]]:
    """Step times of each group of rows that can be calibrated, and notes on all groups."""
    plain, found, notes = _plain_steps(folder), {}, []
    for group in dict.fromkeys(row.group for row in rows):
        own = [row for row in rows if row.group == group]
        which = "earlier server" if own[0].is_earlier else "last server"
        name = f"{own[0].gpu}, setting {own[0].setting}, {which}"
        light = light_rows(own)
        step = plain.get((own[0].gpu, _size(own[0].model)))
        if step is None or own[0].gpu not in _POOL_TOKENS or not light:
            why = "no run without adapters tells its steps" if step is None else "no rate is below the limit"
            notes.append(f"{name}: left out, as {why}")
            continue
        slower, fetch_s = _told(light, step)
        found[group] = Steps(plain=step, slowed=_scaled(step, slower), fetch_s=fetch_s)
        notes.append(
            f"{name}: steps with adapters take {slower:.3f} times those without, and an adapter that is not "
            f"there yet {1e3 * fetch_s:.0f} ms"
        )
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


def _told(rows: Sequence[Row], step: FittedStep) -> tuple[float, float]:
    """How much slower steps are, and how long an adapter takes: least squares of two logarithms a row.

    The two are that of the mean TTFT and that of the mean time from the first token to the last.
    """
    from scipy.optimize import least_squares  # slow to import, so only here

    once: dict[tuple[object, ...], Row] = {row.asked: row for row in rows}

    def off(guess: NDArray[np.float64]) -> list[float]:
        steps = Steps(plain=step, slowed=_scaled(step, float(guess[0])), fetch_s=float(guess[1]))
        runs = {asked: _in_order(row, steps, SCRIPT_SEED)[0] for asked, row in once.items()}
        pairs = [(row, runs[row.asked]) for row in rows]
        first = [np.log(run.ttft_s / row.ttft_s) for row, run in pairs]
        rest = [np.log((run.e2e_s - run.ttft_s) / (row.e2e_s - row.ttft_s)) for row, run in pairs]
        return [float(each) for each in (*first, *rest)]

    start, bounds = (1.05, 0.03), ((0.5, 0.0), (4.0, 2.0))
    found = least_squares(
        off, start, bounds=bounds, diff_step=[0.02, 0.02], x_scale=(1.0, 0.05), max_nfev=_ROUNDS
    )
    return float(found.x[0]), float(found.x[1])


def _scaled(step: FittedStep, factor: float) -> FittedStep:
    (a, b, c), (base, context, each) = step.prefill, step.small
    line = (factor * base, factor * context, factor * each)
    prefill = (factor * a, factor * b, factor * c)
    return FittedStep(prefill=prefill, small=line, large=line, threshold=0)


def served(row: Row, steps: Steps) -> Run:
    """One run to its end, with the requests of its script."""
    run, fetched_frac = _in_order(row, steps, SCRIPT_SEED)
    return run if row.policy == "slora" else _in_other_order(row, steps, fetched_frac)


def drawn_anew(row: Row, steps: Steps, seed: int) -> Run:
    """One run in order of arrival with other requests of the same kind."""
    return _in_order(row, steps, seed)[0]


def _in_order(row: Row, steps: Steps, seed: int) -> tuple[Run, float]:
    """A run in order of arrival, and the share of requests whose adapter had to come."""
    asked, step = drawn(row, seed), steps.slowed if row.n_adapters else steps.plain
    tokens = adapter_tokens(row)
    found = served_in_order(asked, step, _POOL_TOKENS[row.gpu], tokens, fetch_s=steps.fetch_s)
    return _seen(asked, found.first_s, found.end_s), found.fetched_frac


def _in_other_order(row: Row, steps: Steps, fetched_frac: float) -> Run:
    """A run in the order of its policy; adapters come in the mean time of those in order of arrival."""
    gives_up = row.policy == "abort"
    asked = drawn(row, slo_s=SLO_S if gives_up else np.inf)
    n_tokens = _POOL_TOKENS[row.gpu]
    policy = lightllm(
        n_tokens,
        _ORDERS[row.policy],
        shed=_GivesUp() if gives_up else None,
        adapter_tokens=adapter_tokens(row),
    )
    step = steps.slowed if row.n_adapters else steps.plain
    fetching = _Fetching(step=step, prompt_s=fetched_frac * steps.fetch_s)
    records = engine.simulate(asked, policy, pool(fetching, n_tokens))
    return _seen(asked, records.first_token_s, records.finish_s)


def _seen(asked: Requests, first_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> Run:
    ttft_s = first_s - asked.arrival_s
    return Run(
        ttft_s=float(np.nanmean(ttft_s)),
        e2e_s=float(np.nanmean(end_s - asked.arrival_s)),
        in_time_frac=float(np.mean(ttft_s < SLO_S)),  # NaN is not
    )
