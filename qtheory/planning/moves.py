"""What would move the knee: each input changed by a tenth, everything else left as it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qtheory.basics.errors import ServingError
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scheduler import WHOLE_PROMPT_SCHEDULERS
from qtheory.system.steptime import Roofline
from qtheory.system.workload import PairLengths, Workload

from .search import Search
from .theory import Theory

__all__ = ["Move", "moves"]

_TENTH = 0.1
_AROUND = (0.7, 0.8, 0.88, 0.93, 0.97, 1.0, 1.03, 1.07, 1.12, 1.2, 1.35)  # of the knee as it is
_N_PAIRS, _SEED = 2_000, 1
_World = tuple[ReplicaSpec, Workload]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What one changed input does to the knee.

    Parameters
    ----------
    what : str
        The input and how it was changed.
    knee_change_frac : float or None
        New knee over old, less one; None if there is no prediction with the changed input.

    Examples
    --------
    >>> Move(what="10 % more bandwidth", knee_change_frac=0.06).what
    '10 % more bandwidth'
    """

    what: str
    knee_change_frac: float | None


def moves(
    replica: ReplicaSpec, workload: Workload, *, scheduler: str, goodput_frac: float = 0.9
) -> list[Move]:
    """The knee with each input a tenth better, by the closed forms, largest gain first.

    The closed forms tell a change better than a place: their errors before and after are nearly the same.
    Lengths are scaled on 2,000 pairs drawn from their laws, before and after alike.

    Parameters
    ----------
    replica : ReplicaSpec
    workload : Workload
    scheduler : str
        One that there is a model of.
    goodput_frac : float
        In (0, 1).

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat")
    >>> found = moves(replica_of(scenario), workload_of(scenario), scheduler="chunked")
    >>> found[0].knee_change_frac > 0.05
    True
    """
    world = (replica, _sampled(workload))
    base = _knee(world, scheduler, goodput_frac, near_rps=None)
    if base is None:
        return []
    found = []
    for what, change in _changes(scheduler, replica, workload):
        changed = _knee(change(world), scheduler, goodput_frac, near_rps=base)
        found.append(Move(what=what, knee_change_frac=None if changed is None else changed / base - 1))
    return sorted(found, key=lambda move: -(move.knee_change_frac or 0.0))


def _knee(world: _World, scheduler: str, level: float, *, near_rps: float | None) -> float | None:
    """The closed knee; with a rate close by, from few points around that."""
    theory = Theory(replica=world[0], workload=world[1], scheduler=scheduler, tier="closed")
    try:
        limit = theory.limit_rps if theory.has_limit else math.inf
        if near_rps is not None:
            rates = [share * near_rps for share in _AROUND if share * near_rps < 0.999 * limit]
            points = theory.many(rates)
            good = [point.goodput_frac for point in points]
            if len(points) > 2 and good[0] >= level > (good[-1] if math.isinf(limit) else 0.0):
                guide = ([point.rate_rps for point in points], good)
                return Search(theory.good, guide=guide, limit_rps=limit).crossing(level, most=2, rtol=1e-3)
        points = theory.curve
        guide = ([point.rate_rps for point in points], [point.goodput_frac for point in points])
        found = Search(theory.good, guide=guide, limit_rps=limit).crossing(level, most=2, rtol=1e-3)
        theory.check_covers(found)
        return found
    except ServingError:
        return None


def _sampled(workload: Workload) -> Workload:
    prompts, outputs = workload.lengths.sample(np.random.default_rng(_SEED), _N_PAIRS)
    return replace(workload, lengths=PairLengths(prompt_tokens=prompts, output_tokens=outputs))


def _changes(
    scheduler: str, replica: ReplicaSpec, workload: Workload
) -> list[tuple[str, Callable[[_World], _World]]]:
    """Changes that can have an effect."""
    more = 1 + _TENTH
    found: list[tuple[str, Callable[[_World], _World]]] = []
    if isinstance(replica.step_time, Roofline):
        found += [
            ("10 % more memory bandwidth", lambda world: _faster(world, bandwidth=more)),
            ("10 % more compute", lambda world: _faster(world, flops=more)),
            ("10 % less host and launch time", lambda world: _faster(world, overhead=1 - _TENTH)),
        ]
    found.append(("10 % more KV memory", lambda world: (_with_blocks(world[0], more), world[1])))
    found.append(("10 % more running requests", lambda world: (_wider(world[0], "max_seqs", more), world[1])))
    if scheduler not in WHOLE_PROMPT_SCHEDULERS and replica.scheduler.chunked_prefill is not False:
        found.append(
            ("10 % more budget a step", lambda world: (_wider(world[0], "budget_tokens", more), world[1]))
        )
    found.append(("10 % shorter prompts", lambda world: (world[0], _shorter(world[1], prompt=1 - _TENTH))))
    found.append(("10 % shorter outputs", lambda world: (world[0], _shorter(world[1], output=1 - _TENTH))))
    for name, word in (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("e2e_s", "E2E")):
        if getattr(workload.slo, name) is not None:
            found.append((f"10 % longer {word} limit", lambda world, name=name: _looser(world, name, more)))  # type: ignore[misc]
    return found


def _faster(world: _World, *, bandwidth: float = 1.0, flops: float = 1.0, overhead: float = 1.0) -> _World:
    spec = world[0]
    card = spec.hardware
    hardware = replace(
        card,
        bandwidth_bytes_per_s=bandwidth * card.bandwidth_bytes_per_s,
        peak_flops_per_s={name: flops * value for name, value in card.peak_flops_per_s.items()},
        overhead_per_step_s=overhead * card.overhead_per_step_s,
        overhead_per_layer_s=overhead * card.overhead_per_layer_s,
    )
    roofline = replace(spec.roofline, hardware=hardware)
    return replace(spec, hardware=hardware, roofline=roofline, step_time=roofline), world[1]


def _with_blocks(spec: ReplicaSpec, factor: float) -> ReplicaSpec:
    return replace(spec, n_blocks=math.ceil(factor * spec.n_blocks))


def _wider(spec: ReplicaSpec, name: str, factor: float) -> ReplicaSpec:
    changed: dict[str, Any] = {name: math.ceil(factor * (getattr(spec.scheduler, name) or 1))}
    return replace(spec, scheduler=replace(spec.scheduler, **changed))


def _shorter(workload: Workload, *, prompt: float = 1.0, output: float = 1.0) -> Workload:
    lengths = workload.lengths
    pairs = (np.array(getattr(lengths, name)) for name in ("prompt_tokens", "output_tokens"))
    prompts, outputs = (
        np.maximum(np.rint(factor * tokens), 1).astype(np.int64)
        for factor, tokens in zip((prompt, output), pairs, strict=True)
    )
    return replace(workload, lengths=PairLengths(prompt_tokens=prompts, output_tokens=outputs))


def _looser(world: _World, name: str, factor: float) -> _World:
    limit = getattr(world[1].slo, name)
    return world[0], replace(world[1], slo=replace(world[1].slo, **{name: factor * limit}))
