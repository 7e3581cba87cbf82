"""Orders made anew at every pass, in the fast engine: its records are those of the reference engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.scheduler_text import parse_scheduler
from qtheory.system.workload import TextRuns
from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim.fast import depth_line
from sim.fast.cached import CachedState
from sim.fast.fair_line import FairLine
from sim.fast.longest_line import LongestLine
from sim.fast.prefix_line import PrefixLine
from sim.fast.slack_line import CachedSlackLine
from sim.kvcache.texts import TextContents
from sim.policies import make_policy
from sim.replica import Replica
from sim.testing import ConstantStep
from validation.engines import check_engines, differences, draw_cached_case, draw_case
from validation.engines.run import check_one

DEPTH_FIRST, LEAST_SLACK = "cache_aware(cache_order=dfs-weight)", "slo(deadline_order=least_slack)"
ORDERS = ("cache_aware", "fair")
ALL = (*ORDERS, DEPTH_FIRST, LEAST_SLACK)


@pytest.mark.parametrize(("prefix_cache", "n_cases"), [(True, 80), (False, 50)])
@pytest.mark.parametrize("name", ALL)
def test_the_engines_agree_on_random_cases(
    name: str, prefix_cache: bool, n_cases: int, capsys: pytest.CaptureFixture[str]
) -> None:
    agreement = check_engines(range(n_cases), [name], prefix_cache=prefix_cache)
    with capsys.disabled():
        print(f"\n{name}, {prefix_cache=}: {agreement.summary()}")
    assert not agreement.unequal
    least = 0.05 if "cache_aware" in name and not prefix_cache else 0.4  # prefixes do not count without one
    assert agreement.reached["demotes or reorders"] > least * n_cases


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_engines_agree_on_2000_more_of_them(name: str) -> None:
    assert not check_engines(range(30_000, 32_000), [name], prefix_cache=True).unequal


def test_the_fast_engine_runs_them() -> None:
    for seed in range(100):
        for case in (draw_case(seed, schedulers=ALL), draw_cached_case(seed, schedulers=ALL)):
            reason = engine.why_stepwise(case.requests, case.policy, case.replica)
            assert reason is None or (reason == "ordering" and case.policy.shed.action == "demote")


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "cached": lambda patch: patch.setattr(PrefixLine, "_cached", lambda self, job: 0),
    "alike": lambda patch: patch.setattr(LongestLine, "_is_first_of_its_kind", lambda self, job: True),
    "outputs": lambda patch: patch.setattr(FairLine, "sampled", lambda self, job: None),
    "passing": lambda patch: patch.setattr(FairLine, "steady_steps", lambda self: 2**60),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_an_order_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)

    def differs(seed: int) -> bool:
        try:
            return bool(check_one(draw_cached_case(seed, schedulers=ORDERS))[0])
        except (ConfigError, IndexError, KeyError, ValueError):
            return True

    assert any(differs(seed) for seed in range(300))


LOOK_FAULTS: dict[str, tuple[str, object, str, object]] = {
    "nothing is found": (DEPTH_FIRST, depth_line, "_branches", lambda job, n_blocks: []),
    "no branch is heavy": (DEPTH_FIRST, depth_line, "Counter", lambda found: dict.fromkeys(found, 1)),
    "nothing is cached": (LEAST_SLACK, CachedSlackLine, "_cached", lambda self, job: 0),
    "nothing takes time": (LEAST_SLACK, CachedState, "_rest_alone_s", lambda *args: 0.0),
}


@pytest.mark.parametrize("fault", LOOK_FAULTS)
def test_a_fault_planted_in_what_an_order_looks_at_is_caught(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, owner, attribute, wrong = LOOK_FAULTS[fault]
    monkeypatch.setattr(owner, attribute, wrong)
    assert any(check_one(draw_cached_case(seed, schedulers=[name]))[0] for seed in range(300))


def _echo_differs(name: str, n_blocks: int, arrival_s: float) -> list[str]:
    """A prompt that begins as an answer which is still being written, in memory too small for both."""
    runs = TextRuns(
        texts=[0, 2, 0, 1], starts=[0, 0, 0, 0], n_tokens=[16, 42, 70, 20], offsets=[0, 1, 2, 4],
        output_texts=[0, -1, -1], output_starts=[16, 0, 0],
    )  # fmt: skip
    requests = Requests(
        arrival_s=[0.0, 0.0, arrival_s], prompt_tokens=[16, 42, 90], output_tokens=[90, 60, 4], text_runs=runs
    )
    policy = make_policy(replace(parse_scheduler(name), max_seqs=4, budget_tokens=200))
    replica = Replica(step_time=ConstantStep(), n_blocks=n_blocks, block_tokens=4, prefix_cache=True)
    one = reference.simulate(requests, policy, replica, contents=TextContents(runs))
    return differences(one, engine.simulate(requests, policy, replica))


@pytest.mark.parametrize("n_blocks", range(32, 56, 4))
@pytest.mark.parametrize("name", ["chunked", "fcfs", *ALL])
def test_an_answer_is_found_while_it_is_written(name: str, n_blocks: int) -> None:
    for arrival_s in (1.5, 40.0, 99.0):
        assert not _echo_differs(name, n_blocks, arrival_s)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("cache_aware", lambda patch: patch.setattr(PrefixLine, "steady_steps", lambda self: 2**60)),
        ("chunked", lambda patch: patch.setattr(CachedState, "steady_steps", lambda self: 2**60)),
    ],
)
def test_an_answer_that_is_asked_for_too_late_is_noticed(
    name: str, fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert any(_echo_differs(name, n_blocks, at_s) for at_s in (1.5, 2.5, 4.5) for n_blocks in range(28, 60))


def test_weights_whose_charges_do_not_add_up_exactly_go_stepwise() -> None:
    requests = Requests(arrival_s=[0.0], prompt_tokens=[8], output_tokens=[2])
    replica = Replica(step_time=ConstantStep(), n_blocks=8)
    reasons = {
        weights: engine.why_stepwise(
            requests, make_policy(SchedulerSpec(name="fair", client_weights=weights)), replica
        )
        for weights in ((2.0, 0.5), (3.0, 1.0))
    }
    assert reasons == {(2.0, 0.5): None, (3.0, 1.0): "ordering"}


def test_clients_take_turns() -> None:
    n = 40
    requests = Requests(
        arrival_s=np.zeros(n), prompt_tokens=np.full(n, 10), output_tokens=np.full(n, 5),
        client=np.arange(n) // (n // 2),
    )  # fmt: skip
    policy = make_policy(SchedulerSpec(name="fair", max_seqs=2, budget_tokens=64))
    records = engine.simulate(requests, policy, Replica(step_time=ConstantStep(), n_blocks=64))
    order = np.argsort(records.first_scheduled_s, kind="stable")
    served = np.cumsum(np.where(requests.client is not None and requests.client[order] == 0, 1, -1))
    assert np.abs(served).max() <= 2
