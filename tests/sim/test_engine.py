"""The fast engine gives the records of the reference engine; a fault in one of them shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, PlanError
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim.fast.cohort import Cohort
from sim.fast.state import State
from sim.fast.steps import steps_until
from sim.policies import Policy, make_policy
from sim.record import Status
from sim.replica import Replica
from sim.summary import summarize
from sim.testing import AffineStep, ConstantStep
from validation.engines import check_engines, draw_case
from validation.engines.run import check_one

LEAST_SHARES = {"preempts": 0.2, "cuts prompts": 0.2, "sheds": 0.1, "hits a slot or block gate": 0.2}


def _agree(seeds: range, capsys: pytest.CaptureFixture[str]) -> None:
    agreement = check_engines(seeds)
    with capsys.disabled():
        print(f"\n{agreement.summary()}")
    assert not agreement.unequal
    for rule, share in LEAST_SHARES.items():
        assert agreement.reached[rule] >= share * agreement.n_cases, rule


def test_the_engines_agree_on_500_random_cases(capsys: pytest.CaptureFixture[str]) -> None:
    _agree(range(500), capsys)


@pytest.mark.slow
def test_the_engines_agree_on_3000_more_random_cases(capsys: pytest.CaptureFixture[str]) -> None:
    _agree(range(10_000, 13_000), capsys)


def _first_victim(state: State) -> None:
    @dataclass(frozen=True)
    class FirstAdmitted:
        whole_batch = False

        def choose(self, running: Any) -> Any:
            return running[0]

    state.policy = replace(state.policy, victim=FirstAdmitted())


def _on_state(change: Callable[[State], None]) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch: pytest.MonkeyPatch) -> None:
        plain = State.__init__

        def init(self: State, *args: Any) -> None:
            plain(self, *args)
            change(self)

        patch.setattr(State, "__init__", init)

    return plant


def _one_more(name: str) -> Callable[[State], None]:
    return lambda state: setattr(state, name, getattr(state, name) + 1)


def _charge_first_chunk(state: State) -> None:
    state._charges_known = False
    state._charge = lambda job, n: n


def _late_finish(patch: pytest.MonkeyPatch) -> None:
    plain = Cohort.join

    def join(self: Cohort, job: Any) -> None:
        job.n_outputs -= 1
        plain(self, job)
        job.n_outputs += 1

    patch.setattr(Cohort, "join", join)


def _last_token_stored(patch: pytest.MonkeyPatch) -> None:
    plain = Cohort.join

    def join(self: Cohort, job: Any) -> None:
        job.computed_tokens += 1
        plain(self, job)
        job.computed_tokens -= 1

    patch.setattr(Cohort, "join", join)


FAULTS = {
    "budget": _on_state(_one_more("budget_tokens")),
    "slot": _on_state(_one_more("_max_seqs")),
    "block gate": _on_state(_charge_first_chunk),
    "victim": _on_state(_first_victim),
    "last token": _last_token_stored,
    "finish": _late_finish,
    "shed": lambda patch: patch.setattr(State, "shed", lambda self: self.expiries.clear()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_the_fast_engine_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)

    def differs(seed: int) -> bool:
        try:
            return bool(check_one(draw_case(seed))[0])
        except (ConfigError, IndexError, KeyError, ValueError):
            return True

    assert any(differs(seed) for seed in range(60))


@pytest.mark.parametrize("slope_s", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("wait_s", [-1.0, 0.0, 0.99, 1.0, 17.3, 4e4])
def test_the_steps_until_a_moment_are_the_fewest_that_reach_it(wait_s: float, slope_s: float) -> None:
    def taken_s(k: int) -> float:
        return k * 1.0 + slope_s * k * (k - 1) / 2

    k = steps_until(wait_s, 1.0, slope_s)
    assert k >= 1
    assert taken_s(k) >= wait_s
    assert k == 1 or taken_s(k - 1) < wait_s


def test_a_lone_decode_is_one_run_of_steps() -> None:
    requests = Requests(arrival_s=[0.0], prompt_tokens=[10], output_tokens=[1001])
    replica = Replica(step_time=AffineStep(base_s=0.01, per_context_token_s=1e-6), n_blocks=100)
    records = engine.simulate(requests, Policy(name="chunked"), replica)
    assert records.steps.n_steps.tolist() == [1, 1000]
    assert records.finish_s[0] == pytest.approx(0.01 * 1001 + 1e-6 * sum(range(11, 1011)), rel=1e-12)


def test_a_million_tokens_of_context_do_not_overflow() -> None:
    requests = Requests(
        arrival_s=np.zeros(4), prompt_tokens=np.full(4, 3_000_000), output_tokens=np.full(4, 50)
    )
    policy = Policy(name="chunked", budget_tokens=10_000_000)
    replica = Replica(step_time=AffineStep(base_s=0.01, per_context_token_s=1e-9), n_blocks=800_000)
    one, other = (run(requests, policy, replica) for run in (reference.simulate, engine.simulate))
    assert other.finish_s == pytest.approx(one.finish_s, rel=1e-12)
    assert other.steps.decode_context_tokens.max() > 2**23


@pytest.mark.parametrize("seed", [seed for seed in range(13) if seed != 5])  # case 5 gets stuck
def test_measured_numbers_are_those_of_the_records(seed: int) -> None:
    case, slo = draw_case(seed, n=200), Slo(ttft_s=5.0, tpot_s=0.5)
    how = {"client_cap": case.client_cap, "think_s": case.think_s, "until_s": case.until_s}
    if engine.why_stepwise(case.requests, case.policy, case.replica):
        pytest.skip("this case needs the reference engine")
    records = engine.simulate(case.requests, case.policy, case.replica, **how)
    whole = summarize(records, slo, scheduler="", rate_rps=1.0, budget_tokens=1, policy=case.policy)
    for name, value in engine.measure(case.requests, case.policy, case.replica, slo, **how).items():
        expected = getattr(whole, name)
        assert value is expected or value == pytest.approx(expected, rel=1e-3, abs=1e-9), name


def test_no_requests_give_empty_records() -> None:
    nothing = Requests(arrival_s=[], prompt_tokens=[], output_tokens=[])
    records = engine.simulate(nothing, Policy(name="chunked"), Replica(step_time=ConstantStep(), n_blocks=4))
    assert len(records.finish_s) == len(records.steps.start_s) == len(records.gaps.expand()[0]) == 0


def test_a_step_time_that_is_not_positive_is_refused() -> None:
    class Broken:
        def step_s(self, load: Any) -> float:
            return float("nan")

        def decode_line(self, n_decodes: int) -> None:
            return None

    requests = Requests(arrival_s=[0.0], prompt_tokens=[4], output_tokens=[2])
    with pytest.raises(ConfigError, match="step_time: nan seconds"):
        engine.simulate(requests, Policy(name="chunked"), Replica(step_time=Broken(), n_blocks=4))


def test_what_waits_for_ever_is_named() -> None:
    requests = Requests(arrival_s=[0.0], prompt_tokens=[100], output_tokens=[2])
    policy = Policy(name="chunked", on_unfit="wait")
    with pytest.raises(PlanError, match="request 0 waits for ever"):
        engine.simulate(requests, policy, Replica(step_time=ConstantStep(), n_blocks=4))


@pytest.mark.parametrize("name", ["fcfs", "chunked"])
def test_a_clock_that_stops_at_the_end_of_a_step_does_not_undo_what_ended_with_it(name: str) -> None:
    asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[4, 4], output_tokens=[1, 9])
    policy, replica = make_policy(SchedulerSpec(name=name)), Replica(step_time=ConstantStep(1.0), n_blocks=8)
    for simulate in (engine.simulate, reference.simulate):
        records = simulate(asked, policy, replica, until_s=1.0)
        assert records.finish_s[0] == 1.0
        assert records.status.tolist() == [Status.FINISHED, Status.UNFINISHED]
