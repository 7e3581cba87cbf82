"""Knees by theory: marks in order, limit cases, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.planning import Theory, explained, find_knee, knee, moves
from qtheory.predict import MODELLED_SCHEDULERS, limit_rps, predict
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of

CARD = Scenario(hardware="rtx3050", workload="rag")
LARGE = Scenario(hardware="a100", model="llama-3.1-8b", workload="chat", kv_blocks=100_000)


def world(scenario: Scenario) -> tuple[ReplicaSpec, Workload]:
    return replica_of(scenario), workload_of(scenario)


@pytest.mark.parametrize("scheduler", MODELLED_SCHEDULERS)
def test_marks_stand_in_order(scheduler: str) -> None:
    found = knee(*world(replace(CARD, scheduler=scheduler)), tier="closed")
    assert found.knee_rps is not None
    assert found.strict_rps is not None
    assert found.strict_rps < found.knee_rps
    assert found.half_rps is None or found.knee_rps < found.half_rps
    assert found.peak_rate_rps is None or found.peak_goodput_rps < found.peak_rate_rps
    assert (found.cliff_slope or 0) > 0
    assert found.fails in ("TTFT", "TPOT")
    assert found.answered_by == "theory, closed"


@pytest.mark.parametrize("scheduler", ["fcfs", "chunked"])
def test_the_closed_knee_is_where_the_closed_goodput_is_the_share(scheduler: str) -> None:
    spec, workload = world(replace(CARD, scheduler=scheduler))
    for share in (0.8, 0.9, 0.97):
        found = knee(spec, workload, tier="closed", goodput_frac=share)
        point = predict(spec, workload, rate_rps=found.knee_rps, tier="closed")
        assert point.goodput_frac == pytest.approx(share, abs=0.006)


def test_the_numeric_knee_is_where_the_numeric_goodput_is_the_share() -> None:
    spec, workload = world(replace(CARD, scheduler="chunked"))
    found = knee(spec, workload)
    point = predict(spec, workload, rate_rps=found.knee_rps)
    assert found.answered_by == "theory, numeric"
    assert point.goodput_frac == pytest.approx(0.9, abs=0.005)


def test_any_function_gives_the_same_knee() -> None:
    spec, workload = world(replace(CARD, scheduler="chunked"))
    theory = Theory(replica=spec, workload=workload, scheduler="chunked", tier="closed")
    limit = limit_rps(spec, workload)
    assert find_knee(theory.good, start_rps=0.5 * limit, limit_rps=limit) == pytest.approx(
        knee(spec, workload, tier="closed").knee_rps, rel=3e-3
    )


def test_a_limit_that_nobody_meets_leaves_no_knee() -> None:
    found = knee(*world(CARD), slo=Slo(ttft_s=1e-4), tier="closed")
    assert found.knee_rps is None
    assert found.fails == "TTFT"


def test_looser_limits_move_the_knee_up_and_say_what_fails() -> None:
    spec, workload = world(replace(CARD, scheduler="chunked"))
    tight = knee(spec, workload, slo=Slo(ttft_s=1.0), tier="closed")
    loose = knee(spec, workload, slo=Slo(ttft_s=4.0), tier="closed")
    by_token = knee(spec, workload, slo=Slo(ttft_s=60.0, tpot_s=0.03), tier="closed")
    assert tight.knee_rps < loose.knee_rps
    assert (tight.fails, by_token.fails) == ("TTFT", "TPOT")


@pytest.mark.parametrize("scheduler", ["fcfs", "chunked"])
def test_more_bandwidth_never_lowers_the_knee_at_fixed_memory(scheduler: str) -> None:
    spec, workload = world(replace(LARGE, scheduler=scheduler))
    changes = {move.what: move.knee_change_frac for move in moves(spec, workload, scheduler=scheduler)}
    assert changes["10 % more memory bandwidth"] > 0
    assert changes["10 % more compute"] > 0
    assert changes["10 % shorter prompts"] > 0.05


def test_what_nothing_waits_for_moves_nothing() -> None:
    spec, workload = world(replace(CARD, scheduler="chunked"))
    changes = {move.what: move.knee_change_frac for move in moves(spec, workload, scheduler="chunked")}
    assert changes["10 % more KV memory"] == pytest.approx(0.0, abs=2e-3)


def test_whole_prompts_have_no_budget_to_move() -> None:
    spec, workload = world(replace(CARD, scheduler="fcfs"))
    assert not any("budget" in move.what for move in moves(spec, workload, scheduler="fcfs"))


def test_the_formulas_come_out_near_the_model() -> None:
    spec, workload = world(replace(CARD, scheduler="chunked"))
    found = knee(spec, workload, tier="closed")
    lines = {line.what: line.numbers for line in explained(spec, workload, found)}
    value, model = lines["limit: budget binds"].split(" = ")[1].split(" req/s (model ")
    assert float(value) == pytest.approx(float(model.rstrip(")")), rel=0.02)


def test_the_numbers_of_lengths_do_not_depend_on_the_rate_of_the_workload() -> None:
    spec, workload = world(CARD)
    found = [knee(spec, replace(workload, rate_rps=rate), tier="closed").knee_rps for rate in (0.1, 50.0)]
    assert found[0] == found[1]


def test_a_scheduler_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="no model of 'fair'"):
        knee(*world(replace(CARD, scheduler="fair")), tier="closed")


def test_a_knee_beyond_the_range_of_a_model_is_refused() -> None:
    phases = "mmpp(rates=[1, 5], mean_s=[60, 20])"  # there is no model of one that is an overload
    spec, workload = world(replace(LARGE, scheduler="fcfs", arrivals=phases))
    with pytest.raises(ServingError, match="simulate it"):
        knee(spec, workload, tier="closed")


@pytest.mark.parametrize("share", [0.0, 1.0, 2.0])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="goodput_frac"):
        knee(*world(CARD), tier="closed", goodput_frac=share)


def test_an_unknown_tier_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'numeric'"):
        knee(*world(CARD), tier="numerc")


def test_the_knee_of_slo_while_slots_bind_is_that_of_the_simulator() -> None:
    """Of ``sched-sim knee --schedulers slo --tier sim`` with these flags: 22.47 within 0.10."""
    scenario = Scenario(hardware="h100", model="llama-3.1-8b", workload="chat", scheduler="slo")
    found = knee(*world(replace(scenario, ttft_slo_s=1.0, tpot_slo_s=0.05)))
    assert found.binds == "slots"
    assert found.knee_rps > found.limit_rps
    assert found.knee_rps == pytest.approx(22.47, rel=0.015)
