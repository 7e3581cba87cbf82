"""The two systems of DistServe's evaluation: one instance, or prefill and decode apart; by both routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.predict import PoolPlan, predict, predict_pools
from qtheory.system import metrics
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload import PairLengths, Workload
from sim import engine
from sim.cluster.link import Link
from sim.cluster.member import Member
from sim.cluster.pools import Pools, simulate_pools
from sim.policies import make_policy
from sim.record import Records, Status
from sim.replica import Replica

from ._distserve_data import FITS, TOKENS, Curve, FittedStep
from ._padded_prompts import PaddedPrompts

__all__ = ["System", "script_arrivals_s", "system_of", "workload_of"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_LINK_BYTES_PER_S = 200e9
_BLOCK_TOKENS = 16
_SEED = 20261130


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What serves a curve: one prefill-first instance (no ``decode``), or pools and their link."""

    first: ReplicaSpec
    decode: ReplicaSpec | None = None
    link_tokens_per_s: float = 1.0

    def good_frac(self, workload: Workload, rate_rps: float, n_requests: int, seed: int) -> float:
        """Share of good requests in one simulated run from empty; the seed draws lengths, gaps are given."""
        load = replace(workload, rate_rps=rate_rps, n_requests=n_requests)
        drawn = load.generate(np.random.default_rng([_SEED, seed]))
        asked = replace(drawn, arrival_s=script_arrivals_s(rate_rps, n_requests))
        first = _member(self.first)
        if self.decode is None:
            policy = replace(first.policy, composition=PaddedPrompts())
            return _good(engine.simulate(asked, policy, first.replica), load.slo)
        link = Link(tokens_per_s=self.link_tokens_per_s)
        pools = Pools(prefill=[first], decode=[_member(self.decode)], link=link)
        return _good(simulate_pools(asked, pools).records, load.slo)

    def predicted_frac(self, workload: Workload, rate_rps: float, n_requests: int) -> float | None:
        """Share of good requests by theory: steady, or of these many above the limit; None without answer."""
        try:
            if self.decode is None:
                found = predict(self.first, workload, rate_rps=rate_rps, n_requests=n_requests)
            else:
                link = self.link_tokens_per_s
                plan = PoolPlan(n_prefill=1, n_decode=1, link_tokens_per_s=link)
                found = predict_pools(self.first, self.decode, workload, plan, rate_rps=rate_rps)
        except ServingError:
            return None
        return found.goodput_frac


def script_arrivals_s(rate_rps: float, n_requests: int) -> NDArray[np.float64]:
    """When the authors' client sends its requests: it draws the gaps with seed 0 at every rate [1]_.

    References
    ----------
    .. [1] LLMServe/DistServe @ 0d1c162, ``2-benchmark-serving.py``: ``main`` sows before each rate, and
       ``get_request`` draws a gamma law of shape 1.

    Examples
    --------
    >>> script_arrivals_s(1.0, 4).round(3).tolist()
    [0.0, 0.796, 2.052, 2.975]
    """
    gaps = np.random.RandomState(0).gamma(1.0, 1.0 / rate_rps, n_requests)  # the script's own generator
    return np.concatenate([[0.0], np.cumsum(gaps)[:-1]])


def system_of(
    curve: Curve,
    fits: dict[tuple[str, str, int], FittedStep],
    tokens: dict[tuple[str, int, int], int],
) -> System:
    """The instances that the authors' start script names for a curve.

    vLLM: 1 accelerator for OPT-13B, 4 for OPT-66B. DistServe: prefill on 2 and 4; decode on 1, and on two
    stages of 2.
    """
    model, wide = curve.model, {"opt-13b": 1, "opt-66b": 4}[curve.model]
    if curve.system == "vllm":
        held, step = _row(TOKENS, tokens, (model, wide, 1)), _row(FITS, fits, ("vllm", model, wide))
        return System(first=_spec(model, wide, held, step, budget=16_384, max_seqs=1024))
    tp, n_stages, prefill_tp = {"opt-13b": (1, 1, 2), "opt-66b": (2, 2, 4)}[model]
    prefill = _row(FITS, fits, ("distserve", model, prefill_tp))
    room = _row(TOKENS, tokens, (model, prefill_tp, 1))
    first = _spec(model, prefill_tp, room, prefill, budget=8192, max_seqs=128)
    held = _row(TOKENS, tokens, (model, tp, n_stages))
    step = _row(FITS, fits, ("distserve", model, tp)).in_stages(n_stages)
    decode = _spec(model, tp, held, step, budget=65_536, max_seqs=1024)
    link = _LINK_BYTES_PER_S / first.model.kv_bytes_per_token("bf16")
    return System(first=first, decode=decode, link_tokens_per_s=link)


def _row(file: str, table: Mapping[_Key, _Value], key: _Key) -> _Value:
    """What the table of a file has for a system; a file without it is not the authors'."""
    if key not in table:
        raise ConfigError(f"{file}: no row of {key}")
    return table[key]


def workload_of(curve: Curve, pairs: PairLengths) -> Workload:
    """The load of a curve, without a rate of its own."""
    limits = Slo(ttft_s=curve.ttft_s, tpot_s=curve.tpot_s)
    return Workload(name="ShareGPT", lengths=pairs, rate_rps=1.0, slo=limits)


def _spec(model: str, tp: int, tokens: int, step: FittedStep, *, budget: int, max_seqs: int) -> ReplicaSpec:
    scenario = Scenario(
        hardware="a100",
        model=model,
        tp=tp,
        scheduler="fcfs",
        budget_tokens=budget,
        max_seqs=max_seqs,
        kv_blocks=tokens // _BLOCK_TOKENS,
        block_tokens=_BLOCK_TOKENS,
    )
    return replace(replica_of(scenario), step_time=step)


def _member(spec: ReplicaSpec) -> Member:
    held = Replica(step_time=spec.step_time, n_blocks=spec.n_blocks, block_tokens=spec.block_tokens)
    return Member(make_policy(spec.scheduler), held)


def _good(records: Records, slo: Slo) -> float:
    good = metrics.good(
        slo,
        ttft_s=records.first_token_s - records.sent_s,
        tpot_s=metrics.tpot_s(records.first_token_s, records.finish_s, records.requests.output_tokens),
        e2e_s=records.finish_s - records.sent_s,
        finished=records.status == Status.FINISHED,
    )
    return float(good.mean())
