"""The models by the name of their scheduler, and what each is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scheduler import WHOLE_PROMPT_BUDGET_TOKENS, SchedulerSpec
from qtheory.system.workload import Arrivals, MmppArrivals, Workload

from . import _apart, _chunked, _fcfs, _orca, _sjf, _slo, _static
from ._phased import has_phases
from ._setting import Setting
from ._steps import Rule
from .limits import Limit

__all__ = [
    "CLOSE_NOTE",
    "MODELS",
    "REJECTED_NOTE",
    "Model",
    "Setting",
    "check_phases",
    "outside",
    "prepared",
    "scheduler_spec",
]

Columns = dict[str, Any]
Floats = NDArray[np.float64]
_CLOSE_LOAD = 0.95
_NO_LONGER_CLOSE = 1.05  # of a scheduler that sheds, which has a steady state there too
_OTHERS = {
    "chunk_size": "slack",
    "shed": "demote",
}  # steps by what decodes can spare; late ones behind the rest
_IN_PHASES = ("static", "disaggregated")  # their arrivals keep their phases
_MOST_REJECTED = 0.5  # share of prompts longer than a step
_MOST_UNHELD = 1e-3  # share of prompts longer than memory that may be passed over


@dataclass(frozen=True, kw_only=True)
class Model:
    """A scheduler's stability limit, its two tiers, and its steps if they are all that matters."""

    limit: Callable[[Setting], Limit]
    numeric: Callable[[Setting], Columns]
    closed: Callable[[Setting, Floats], dict[str, Floats]]
    always_stable: bool = False
    starves: bool = False  # above the limit some are served as in a steady state, and the others never
    steps: Rule | None = None  # of the fluid model above the limit and of the closed network


MODELS: dict[str, Model] = {
    "fcfs": Model(limit=_fcfs.limit, numeric=_fcfs.numeric, closed=_fcfs.closed, steps=Rule(mixed=False)),
    "chunked": Model(
        limit=_chunked.limit, numeric=_chunked.numeric, closed=_chunked.closed, steps=Rule(mixed=True)
    ),
    "slo": Model(limit=_slo.limit, numeric=_slo.numeric, closed=_slo.closed, always_stable=True),
    "sjf": Model(limit=_sjf.limit, numeric=_sjf.numeric, closed=_sjf.closed, starves=True),
    "orca": Model(limit=_orca.limit, numeric=_orca.numeric, closed=_orca.closed),
    "static": Model(limit=_static.limit, numeric=_static.numeric, closed=_static.closed),
    "disaggregated": Model(limit=_apart.limit, numeric=_apart.numeric, closed=_apart.closed),
}


def scheduler_spec(replica: ReplicaSpec, name: str) -> SchedulerSpec:
    """The scheduler of a replica, if it were another: slots and options stay, the budget is the usual one."""
    spec = replace(replica.scheduler, name=name)
    if not spec.whole_prompts:
        usual = replica.hardware.budget_tokens if replica.scheduler.whole_prompts else spec.budget_tokens
        return replace(spec, budget_tokens=usual)
    return replace(spec, budget_tokens=min(replica.max_model_len_tokens, WHOLE_PROMPT_BUDGET_TOKENS))


CLOSE_NOTE = "so close to 1 that small errors of the limit make large ones of the wait"
REJECTED_NOTE = "are rejected, and count here as served"
"""Ends of the warnings that a load is close to 1, and that some requests can never run."""


def prepared(replica: ReplicaSpec, workload: Workload, scheduler: str | None) -> tuple[Model, Setting]:
    """The model of a scheduler, and what it is given."""
    name = replica.scheduler.name if scheduler is None else scheduler
    if name not in MODELS:
        known = ", ".join(MODELS)
        raise ConfigError(
            f"scheduler: there is no model of {checks.shown(name)}; one of {known}, or simulate it"
        )
    if name != replica.scheduler.name:
        replica = replace(replica, scheduler=scheduler_spec(replica, name))
    for option, given in _OTHERS.items():
        if getattr(replica.scheduler, option) == given:
            raise ConfigError(f"{option}={given}: there is no model of {name} with it; simulate it")
    setting = Setting.of(replica, workload, 1.0)
    _check_prompts(setting)
    return MODELS[name], setting


def _check_prompts(setting: Setting) -> None:
    """Refuse where most prompts do not fit into a step, which is as if others came."""
    demand, budget = setting.engine.demand, setting.engine.budget_tokens
    if not setting.replica.scheduler.whole_prompts or demand.prompt_tokens.max() <= budget:
        return
    rejected = float(demand.prompt_probs[demand.prompt_tokens > budget].sum())
    if rejected > _MOST_REJECTED:
        raise ConfigError(
            f"budget_tokens: {rejected:.0%} of the prompts have more than {budget} tokens and are rejected; "
            "there is no model of so few that are left: raise it, or simulate it"
        )


def check_phases(arrivals: Arrivals, rates_rps: Sequence[float], limit: Limit) -> None:
    """Refuse bursts in phases of which one is an overload: batches with their variance queue far less."""
    if not isinstance(arrivals, MmppArrivals):
        return
    for rate_rps in rates_rps:
        fastest_rps = rate_rps * float(arrivals.relative_rates.max())
        if fastest_rps >= limit.rate_rps:
            raise ConfigError(
                f"rate_rps={rate_rps:g}: {arrivals} has phases of {fastest_rps:.4g} req/s, above the limit "
                f"of {limit.rate_rps:.4g} req/s; there is no model of the queue that they build: simulate it"
            )


def outside(setting: Setting, limit: Limit, *, starved_frac: float = 0.0) -> tuple[str, ...]:
    """Where a question lies outside the range in which the models were checked, and who waits for ever."""
    engine, spec = setting.engine, setting.replica.scheduler
    demand, load = engine.demand, setting.rate_rps / limit.rate_rps
    longest = float(demand.prompt_tokens.max())
    held = setting.replica.n_blocks * setting.replica.block_tokens
    unheld = float(demand.prompt_probs[demand.prompt_tokens > held].sum())
    unusual = {
        "admission": ("full_prompt",),
        "append_rule": ("exact",),
        "victim": ("last_admitted",),
        "deadline_order": ("edf",),
    }
    notes = [
        f"{option}={given}: not modelled, taken as {usual[0]}"
        for option, usual in unusual.items()
        if (given := getattr(spec, option)) not in (None, *usual)
    ]
    sheds = MODELS[setting.scheduler].always_stable
    is_close = _CLOSE_LOAD < load < (_NO_LONGER_CLOSE if sheds else math.inf)
    checks_ = {
        f"load {load:.2f}: {CLOSE_NOTE}": is_close and not starved_frac,
        f"load {load:.2f}: {starved_frac:.1%} of the requests, those of the longest outputs, wait for ever; "
        "times, TTFT good and TPOT good are those of the others, good is of all": starved_frac > 0,
        "KV memory, not slots, limits how many run: means within 10 % or so below a load of 0.9": (
            engine.is_kv_limited
        ),
        "prefix cache: not modelled, every prompt is computed whole": setting.replica.prefix_cache,
        "arrivals are not Poisson: taken as batches with the same long-run variance": (
            demand.burstiness != 1 and not (spec.name in _IN_PHASES and has_phases(setting.workload.arrivals))
        ),
        f"prompts of more than {engine.budget_tokens} tokens {REJECTED_NOTE}": (
            spec.whole_prompts and longest > engine.budget_tokens
        ),
        f"prompts of more than {held} tokens {REJECTED_NOTE}": unheld > _MOST_UNHELD,
        "long_prefill_threshold_tokens: not modelled": bool(spec.long_prefill_threshold_tokens),
    }
    return tuple(notes + [text for text, holds in checks_.items() if holds])
