"""Random cases that reach every rule: small pools, few slots, tight budgets, deadlines, capped clients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim.policies import Policy, make_policy
from sim.replica import Replica
from sim.testing import AffineStep

__all__ = ["Case", "draw_case"]

_SCHEDULERS = ("fcfs", "chunked", "slo", "sjf", "priority", "orca", "static")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Arguments of one run."""

    requests: Requests
    policy: Policy
    replica: Replica
    client_cap: int = 0
    think_s: float = 0.0
    until_s: float = math.inf


def _requests(rng: np.random.Generator, n: int, longest: int) -> Requests:
    gaps = rng.exponential(rng.choice([0.0, 0.1, 0.3, 1.0]), n)
    arrival_s = np.cumsum(gaps * (rng.random(n) < rng.choice([0.3, 1.0])))
    if rng.random() < 0.3:
        arrival_s = np.round(arrival_s)
    prompt = np.minimum(rng.geometric(1 / rng.choice([8, 30, 90]), n), longest)
    output = np.minimum(rng.geometric(1 / rng.choice([2, 10, 40]), n), longest)
    some: dict[str, Any] = {}
    if rng.random() < 0.5:
        some["max_output_tokens"] = output + rng.integers(0, 20, n)
    if rng.random() < 0.5:
        some["predicted_output_tokens"] = rng.integers(1, 6, n).astype(float)
    if rng.random() < 0.5:
        some["priority"] = rng.integers(0, 3, n)
    if rng.random() < 0.7:
        limit_s = rng.integers(1, int(rng.choice([5, 9, 40])), n)
        some["ttft_slo_s"] = np.where(rng.random(n) < 0.2, np.inf, limit_s)
    return Requests(arrival_s=arrival_s, prompt_tokens=prompt, output_tokens=output, **some)


def _options(rng: np.random.Generator, name: str, max_seqs: int, longest: int) -> dict[str, Any]:
    whole = name in ("fcfs", "orca", "static")
    budget = 2 * longest + int(rng.integers(0, 200)) if whole else max_seqs + int(rng.integers(0, 60))
    options: dict[str, Any] = {"budget_tokens": budget, "max_seqs": max_seqs}
    if name != "orca":
        options["admission"] = str(rng.choice(["full_prompt", "full_prompt", "first_chunk", "no_evict"]))
    options["append_rule"] = str(rng.choice(["exact", "exact", "conservative"]))
    options["victim"] = str(
        rng.choice(["last_admitted", "last_admitted", "lowest_priority", "fewest_output"])
    )
    options["watermark_frac"] = float(rng.choice([0.0, 0.0, 0.1]))
    options["watermark_scope"] = str(rng.choice(["busy", "always"]))
    options["prefill_alloc"] = str(rng.choice(["chunk", "chunk", "full"]))
    options["on_unfit"] = str(rng.choice(["arrival", "arrival", "head"]))
    if name == "slo" or rng.random() < 0.2:
        options["shed"] = str(rng.choice(["reject", "reject", "reject", "demote", "none"]))
    return options


def draw_case(seed: int, *, n: int = 24) -> Case:
    """The case with number ``seed``: always the same one.

    Parameters
    ----------
    seed : int
        >= 0.
    n : int
        Requests.

    Examples
    --------
    >>> len(draw_case(7).requests)
    24
    """
    rng = np.random.default_rng([seed, 2_025])
    block_tokens = int(rng.choice([1, 4, 16]))
    longest = int(rng.choice([30, 60]))
    requests = _requests(rng, n, longest)
    name = str(rng.choice(_SCHEDULERS, p=[0.15, 0.17, 0.45, 0.07, 0.06, 0.05, 0.05]))
    max_seqs = int(rng.choice([2, 4, 8, 16]))
    needed = -(-2 * longest // block_tokens)
    n_blocks = int(needed * rng.choice([1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 20.0])) + int(rng.integers(1, 8))
    step_time = AffineStep(
        base_s=float(rng.choice([1.0, 0.1, 0.037])),
        per_token_s=float(rng.choice([0.0, 0.003, 0.02])),
        per_context_token_s=float(rng.choice([0.0, 0.0005, 0.002])),
        per_work_s=float(rng.choice([0.0, 1e-5])),
    )
    replica = Replica(
        step_time=step_time,
        n_blocks=n_blocks,
        block_tokens=block_tokens,
        max_model_len_tokens=int(rng.choice([0, 0, 40])),
    )
    policy = make_policy(SchedulerSpec(name=name, **_options(rng, name, max_seqs, longest)))
    cap = int(rng.choice([0, 0, 3, 10]))
    return Case(
        requests=requests,
        policy=policy,
        replica=replica,
        client_cap=cap,
        think_s=float(rng.choice([0.0, 0.5])) if cap else 0.0,
        until_s=float(rng.choice([math.inf, math.inf, 20.0137])),
    )
