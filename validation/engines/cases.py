"""Random cases that reach every rule: small pools, few slots, tight budgets, deadlines, capped clients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qtheory.system.scheduler import WHOLE_PROMPT_SCHEDULERS, SchedulerSpec
from qtheory.system.scheduler_text import parse_scheduler
from qtheory.system.workload.request import Requests
from sim.kvcache import Contents
from sim.policies import LeastServed, Policy, Unskipped, make_policy
from sim.replica import Replica
from sim.testing import AffineStep

from .contents import draw_contents

__all__ = ["PRESETS", "Case", "draw_cached_case", "draw_case"]

_SCHEDULERS = ("fcfs", "chunked", "slo", "sjf", "priority", "orca", "static")
PRESETS = ("vllm", "vllm-v0", "sglang", "trtllm", "sarathi", "lifo")
"""Schedulers that the fast engine runs beside those that `draw_case` chooses from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Arguments of one run."""

    requests: Requests
    policy: Policy
    replica: Replica
    client_cap: int = 0
    think_s: float = 0.0
    until_s: float = math.inf
    contents: Contents | None = None


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
    whole = name in WHOLE_PROMPT_SCHEDULERS
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


def _turns(rng: np.random.Generator, requests: Requests) -> Requests:
    """Some requests wait for the end of others, and think."""
    n = len(requests)
    after = np.where(rng.random(n) < 0.6, rng.integers(0, np.maximum(np.arange(n), 1)), -1)
    after[:1] = -1
    return replace(requests, after=after, think_s=rng.exponential(2.0, n))


def _own(rng: np.random.Generator, given: SchedulerSpec) -> dict[str, Any]:
    """Options that few schedulers have, and those that are given."""
    if given.name == "fair":
        return {
            "prompt_weight": float(rng.choice([1.0, 0.0, 0.5])),
            "output_weight": float(rng.choice([2.0, 1.0, 0.25])),
            "client_weights": tuple(rng.choice([1.0, 2.0, 0.5], int(rng.integers(0, 4))).tolist()),
        }
    if given.name == "cache_aware":
        skips = {"max_skip": int(rng.integers(1, 5))} if rng.random() < 0.3 else {}
        sharing, queue = rng.choice([32, 32, 16, 0]), rng.choice([128, 128, 6])
        if given.cache_order is not None:
            return {**given.options(), **skips}
        return {"sharing_tokens": int(sharing), "max_queue": int(queue), **skips}
    if given.chunk_size == "slack":
        return {
            **given.options(),
            "admission": str(rng.choice(["full_prompt", "full_prompt", "full_prompt", "no_evict"])),
        }
    return given.options()


def _marked(rng: np.random.Generator, given: SchedulerSpec, requests: Requests, base_s: float) -> Requests:
    """Clients for a scheduler that is fair to them; for one that asks for it, a limit or two per token."""
    n = len(requests)
    if given.name == "fair":
        return replace(requests, client=rng.integers(0, 4, n))
    if given.chunk_size == "slack":
        limits_s = base_s * rng.choice([0.5, 1.3, 2.0, 5.0], 2)
        some_s = np.where(rng.random(n) < 0.1, np.inf, rng.choice(limits_s, n))
        return replace(requests, tpot_slo_s=some_s)
    return requests


def _few(rng: np.random.Generator, options: dict[str, Any]) -> dict[str, Any]:
    """The limits, and each of the other options with a chance of one in ten."""
    return {
        name: value
        for name, value in options.items()
        if name in ("budget_tokens", "max_seqs") or rng.random() < 0.1
    }


def draw_cached_case(seed: int, *, n: int = 24, schedulers: Sequence[str] = ()) -> Case:
    """As `draw_case`, with a prefix cache and requests that have something in common.

    Parameters
    ----------
    seed, n, schedulers
        As of `draw_case`.

    Examples
    --------
    >>> draw_cached_case(7).replica.prefix_cache
    True
    """
    rng = np.random.default_rng([seed, 2_026])
    case = draw_case(seed, n=n, schedulers=schedulers)
    requests = case.requests
    if rng.random() < 0.1 and not case.policy.composition.whole_prompts:
        prompt_tokens = np.where(rng.random(n) < 0.1, 10_000, requests.prompt_tokens)
        requests = replace(requests, prompt_tokens=prompt_tokens)  # these never fit
    contents = draw_contents(rng, requests)
    if rng.random() < 0.3:
        requests = _turns(rng, requests)
    commit = str(rng.choice(["schedule", "schedule", "step_end"]))
    counts_others = isinstance(case.policy.ordering, LeastServed | Unskipped)
    may_skip = rng.random() < 0.2 and not counts_others
    return replace(
        case,
        requests=requests,
        contents=contents,
        replica=replace(case.replica, prefix_cache=True),
        policy=replace(case.policy, cache_commit=commit, in_batch="skip" if may_skip else "share"),
    )


def draw_case(seed: int, *, n: int = 24, schedulers: Sequence[str] = ()) -> Case:
    """The case with number ``seed``: always the same one.

    Parameters
    ----------
    seed : int
        >= 0.
    n : int
        Requests.
    schedulers : sequence of str
        Names to draw from, with options or not, as in ``cache_aware(cache_order=dfs-weight)``; few others are
        changed, so that their own count [those of every kind of step].

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
    options = _options(rng, name, max_seqs, longest)
    if schedulers:
        given = parse_scheduler(str(rng.choice(schedulers)))
        name = given.name
        options = _few(rng, _options(rng, name, max_seqs, longest)) | _own(rng, given)
        requests = _marked(rng, given, requests, step_time.base_s)
    policy = make_policy(SchedulerSpec(name=name, **options))
    cap = int(rng.choice([0, 0, 3, 10]))
    return Case(
        requests=requests,
        policy=policy,
        replica=replica,
        client_cap=cap,
        think_s=float(rng.choice([0.0, 0.5])) if cap else 0.0,
        until_s=float(rng.choice([math.inf, math.inf, 20.0137])),
    )
