"""Own pieces that say the same as those of this package give the same run, in both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import Aged, Chunked, Policy, ShortestOutput, policy_of
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep, request_lists

SMALL = Replica(step_time=AffineStep(base_s=0.3, per_token_s=0.01), n_blocks=14, block_tokens=4)
ASKED = Requests(arrival_s=[0.0], prompt_tokens=[16], output_tokens=[24])


class Fill:
    def fill(self, view, plan):
        plan.continue_running()
        for job in view.waiting:
            if not plan.admit(job):
                break


class SameKey:
    def key(self, job):
        return ShortestOutput().key(job)


class SameVictim:
    def choose(self, running):
        return running[-1]


class SameOrder:
    def arrange(self, waiting, view, ledger):
        limit_s = view.now_s - 4.0
        old = [job for job in waiting if job.arrival_s <= limit_s + 1e-9]
        new = sorted((job for job in waiting if job not in old), key=ShortestOutput().key)
        return [*old, *new]


@given(request_lists())
@settings(max_examples=40)
def test_own_pieces_that_say_the_same_give_the_same_run_in_both_engines(requests: Requests) -> None:
    plain: dict[str, Any] = {"budget_tokens": 64, "max_seqs": 8}
    pairs = [
        (Policy(name="a", ordering=ShortestOutput(), **plain), SameKey()),
        (Policy(name="a", composition=Chunked(), **plain), Fill()),
        (Policy(name="a", **plain), SameVictim()),
        (Policy(name="a", ordering=Aged(inner=ShortestOutput(), limit_s=4.0), **plain), SameOrder()),
    ]
    for ours, own in pairs:
        theirs = replace(policy_of(own, name="a"), **plain)
        expected = simulate(requests, ours, SMALL)
        for run in (simulate, engine.simulate):
            found = run(requests, theirs, SMALL)
            assert found.finish_s.tolist() == pytest.approx(expected.finish_s.tolist(), nan_ok=True)


def test_an_own_order_by_key_is_served_by_the_fast_engine_and_others_are_not() -> None:
    plain: dict[str, Any] = {"budget_tokens": 64, "max_seqs": 8}
    for own, reason in ((SameKey(), None), (SameOrder(), "ordering"), (Fill(), "composition")):
        policy = replace(policy_of(own, name="a"), **plain)
        assert engine.why_stepwise(ASKED, policy, SMALL) == reason
