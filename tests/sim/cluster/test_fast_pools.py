"""Pools that are not visited step by step give the records of the reference engine."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim._stepper import Stepper
from sim.cluster import Link, Member, Pools, _fast_pools, simulate_pools
from sim.cluster._fast_decode import LinkedDecodes
from sim.cluster._fast_pools import fast_pools, why_pools_stepwise
from sim.cluster._merge import merge_steps
from sim.fast.tape import pack_gap
from sim.policies import Chunked, NoEvict, Policy, make_policy
from sim.replica import Replica
from sim.routing import LeastTokens
from sim.testing import ConstantStep

CASES = runpy.run_path(str(Path(__file__).with_name("pool_cases.py")))


def _agree(seeds: range) -> None:
    n_told = 0
    for seed in seeds:
        requests, pools = CASES["draw_pools"](seed)
        found = CASES["compare"](requests, pools)
        n_told += found is not None
        assert not found, f"seed {seed}"
        if (
            found is None and pools.decode[0].policy.append_rule == "exact"
        ):  # the other keeps blocks to itself
            assert simulate_pools(requests, pools).records.n_preemptions.any(), f"seed {seed}"
    assert n_told > 0.6 * len(seeds)  # the others run out of memory for decodes


def test_the_engines_agree_on_random_pools():
    _agree(range(80))


@pytest.mark.slow
def test_the_engines_agree_on_1500_more_random_pools():
    _agree(range(20_000, 21_500))


def _said(n_seeds: int = 12) -> set[str]:
    """What differs in the first cases, without rows and numbers."""
    found = [CASES["compare"](*CASES["draw_pools"](seed)) or [] for seed in range(n_seeds)]
    return {line.partition(": row")[0] for lines in found for line in lines}


def test_steps_merged_in_another_order_show(monkeypatch):
    monkeypatch.setattr(_fast_pools, "merge_steps", lambda parts: merge_steps(parts[::-1]))
    assert _said() == {"fast: merged steps"}


def test_a_step_that_is_left_out_of_the_merged_ones_shows(monkeypatch):
    monkeypatch.setattr(_fast_pools, "merge_steps", lambda parts: (parts[0].steps, None))
    assert _said() == {"fast: merged steps"}


def test_gaps_of_one_instance_alone_show(monkeypatch):
    monkeypatch.setattr(_fast_pools, "merge_gaps", lambda parts: parts[0].gaps)
    assert "fast: merged gaps" in _said()


def test_a_run_of_gaps_that_begins_elsewhere_shows(monkeypatch):
    def tell_gaps(self, n, end_s):
        self._late.clear()
        self.tape.gaps.extend(pack_gap(end_s - self.now_s, 0.0, 1, n))

    monkeypatch.setattr(LinkedDecodes, "_tell_gaps", tell_gaps)
    assert {"gaps", "instance 1: gaps"} <= _said()


def _pools(**more):
    prefill = Policy(name="prefill", composition=Chunked(whole_prompts=True), budget_tokens=64)
    replica = Replica(step_time=ConstantStep(1.0), n_blocks=40, block_tokens=4)
    one = Member(prefill, replica)
    two = Member(Policy(name="decode", budget_tokens=10_000), replica)
    return Pools(**({"prefill": [one], "decode": [two], "link": Link(tokens_per_s=40.0)} | more))


def test_a_decode_that_is_preempted_does_not_need_the_reference_engine(monkeypatch):
    requests = Requests(arrival_s=np.zeros(3), prompt_tokens=[20, 20, 20], output_tokens=[60, 60, 60])
    assert fast_pools(requests, _pools()) is None
    monkeypatch.setattr(Stepper, "__init__", None)
    assert simulate_pools(requests, _pools()).records.n_preemptions.sum() > 0


def test_what_never_fits_is_turned_away_and_the_others_go_on():
    requests = Requests(arrival_s=[0.0, 0.5], prompt_tokens=[65, 8], output_tokens=[2, 2])
    found = simulate_pools(requests, _pools())
    assert found.prefill.tolist() == [-1, 0]
    assert found.records.finish_s.tolist() == [0.0, 2.7]


@pytest.mark.parametrize(("prompt", "output", "longest"), [(10, 1, 30), (22, 2, 1), (10, 1, 1), (22, 1, 1)])
def test_what_may_decode_must_fit_there(prompt, output, longest):
    """A request of one token that may have had thirty is turned away where thirty have no room."""
    requests = Requests(
        arrival_s=[0.0], prompt_tokens=[prompt], output_tokens=[output], max_output_tokens=[longest]
    )
    (two,) = _pools().decode
    small = _pools(decode=[Member(two.policy, replace(two.replica, n_blocks=5))])
    assert CASES["compare"](requests, small) == []


def test_what_asks_for_the_reference_engine_is_named():
    requests = Requests(arrival_s=[0.0], prompt_tokens=[20], output_tokens=[3])
    (one,), (two,) = _pools().prefill, _pools().decode
    last = Member(replace(one.policy, ordering=make_policy(SchedulerSpec(name="lifo")).ordering), one.replica)
    at_once = Member(
        replace(two.policy, composition=make_policy(SchedulerSpec(name="static")).composition), two.replica
    )
    cached = Member(two.policy, replace(two.replica, prefix_cache=True))
    swapping = Member(replace(two.policy, preemption="swap"), two.replica)
    keeping = Member(replace(two.policy, admission=NoEvict()), two.replica)
    by_tokens = LeastTokens()
    cases = {
        "router": {"prefill_router": by_tokens},
        "layers sent one by one": {"link": Link(tokens_per_s=1.0, n_layers=2)},
        "transfers in no time": {"link": Link(tokens_per_s=1e11)},
        "first_token=decode_recompute": {"first_token": "decode_recompute"},
        "ordering": {"prefill": [one, last]},
        "composition": {"decode": [two, at_once]},
        "prefix_cache": {"decode": [cached]},
        "preemption=swap": {"decode": [swapping]},
        "admission": {"decode": [keeping]},
    }
    for reason, more in cases.items():
        assert why_pools_stepwise(requests, _pools(**more)) == reason
    assert why_pools_stepwise(requests, _pools(prefill=[one, one], decode=[two, two])) is None
