"""The answer of a search satisfies its condition, and the next step does not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.queues.kendall import NamedQueue, Solution, answer, solve_for, stability_limit
from qtheory.queues.kendall._grid import Grid

G = "lognormal(mean=1, cv=1.5)"
STEPS = {"base_s": 0.02, "slope_s": 5e-4, "mean_steps": 200}
FOUND = [
    ("M/M/1", {"service_rate_rps": 1.0}, "rate: p99_response_s<=30", True),
    ("M/G/1", {"service": G}, "rate: p99_response_s<=30", True),
    ("M/G/1", {"service": G, "rate_rps": 0.9}, "service_rate: p99_response_s<=3", False),
    ("M/G/1", {"service": G, "rate_rps": 0.9}, "mean_service: p99_response_s<=3", True),
    ("M/M/c", {"service_rate_rps": 1.0, "rate_rps": 80.0}, "n_servers: p99_wait_s<=0.5", False),
    ("M/M/c", {"service_rate_rps": 1.0, "rate_rps": 80.0}, "n_servers: p99_wait_s>=0.5", True),
    ("M/M/c", {"service_rate_rps": 1.0, "rate_rps": 80.0}, "n_servers: mean_queue >= 20", True),
    ("M/M/10/K", {"service_rate_rps": 1.0, "rate_rps": 8.0}, "capacity: prob_block<0.01", False),
    ("M/M/10/K", {"service_rate_rps": 1.0, "rate_rps": 9.9}, "capacity: mean_wait_s<=0.5", True),
    ("M/M/c/c", {"service_rate_rps": 1.0, "rate_rps": 800.0}, "n_servers: prob_block<=0.001", False),
    ("M/D[1,b]/1", {"rate_rps": 8, "base_s": 0.1, "slope_s": 0.01}, "max_batch: p99_response_s<=0.5", False),
    ("M/D[1,64]/1", {"base_s": 0.1, "slope_s": 0.01}, "rate: mean_response_s <= 0.5", True),
    ("M/M/4+D", {"service_rate_rps": 1.0, "patience_s": 0.5}, "rate: prob_abandon<=0.02", True),
    ("M/M/4+D", {"service_rate_rps": 1.0, "rate_rps": 3.0}, "patience: prob_abandon<=0.02", False),
    ("M/G/1 N-policy", {"service": "1", "threshold": 3}, "rate: mean_wait_s<=3.2", True),
    ("M/M(n)/1", STEPS, "rate: p99_response_s<=30", True),
    ("closed M(n)/1", STEPS, "population: mean_response_s<=9", True),
    ("E2/M/3", {"service_rate_rps": 1.0}, "rate: p90_wait_s<=2 and prob_wait<=0.6", True),
    ("G/M/2", {"interval": "gamma(mean=1,cv=2)", "service_rate_rps": 1.0}, "rate: mean_wait_s<=1", True),
    ("M/M/1", {"service_rate_rps": 1.0}, "rate: utilization>=0.99995", None),
    (
        "M/G/1 priority nonpreemptive",
        {"rate_rps": [0.3, 0.4], "service": [0.8, "exponential(mean=1.2)"]},
        "rate: p99_wait_s_class2<=30",
        True,
    ),
]  # fmt: skip


def holds(found: Solution, asked: NamedQueue, value: float) -> bool:
    name = found.unknown.name
    one = asked.with_rate(value) if name == "rate_rps" else asked.having(name, value)
    try:
        solved = answer(one)
    except ServingError:
        return False
    return all(condition.holds(solved.value(condition.quantity)) for condition in found.conditions)


@pytest.mark.parametrize(("name", "given", "text", "largest"), FOUND, ids=lambda part: str(part)[:60])
def test_the_answer_satisfies_the_condition_and_the_next_step_does_not(
    name: str, given: dict[str, object], text: str, largest: bool | None
) -> None:
    asked = NamedQueue(name=name, given=given)
    found = solve_for(asked, text)
    assert found.verdict == "found"
    assert found.value is not None
    assert largest is None or found.is_largest == largest
    grid = Grid(whole=found.unknown.kind == "whole")
    index = grid.index(found.value)
    assert grid.value(index) == found.value
    assert holds(found, asked, found.value)
    assert not holds(found, asked, grid.value(index + (1 if found.is_largest else -1)))
    assert found.answer is not None
    assert found.says.startswith("with ")


UNIT = {"rate_rps": 100.0, "mean_service_s": 1.0}
FAR = [
    ("M/M/c", {"rate_rps": 1e9, "service_rate_rps": 1.0}, "n_servers: p99_wait_s<=0.001", 1_000_004_426),
    ("Erlang A", UNIT | {"mean_patience_s": 2.0}, "n_servers: tail_wait(0.33)<=0.2", 90),
    ("M/M/c/K", UNIT | {"capacity": 150}, "n_servers: mean_wait_s<=0.01", 114),
]
"""Answers far from one server, behind a plateau, and close to the last value that the model takes."""


@pytest.mark.parametrize(("name", "given", "text", "value"), FAR, ids=lambda part: str(part)[:60])
def test_servers_are_looked_for_around_the_offered_load(
    name: str, given: dict[str, object], text: str, value: int
) -> None:
    asked = NamedQueue(name=name, given=given)
    found = solve_for(asked, text)
    assert (found.verdict, found.value, found.is_largest) == ("found", value, False)
    assert holds(found, asked, value)
    assert not holds(found, asked, value - 1)


@pytest.mark.slow
def test_a_percentile_that_is_missing_near_the_limit_alone_does_not_end_the_search() -> None:
    found = solve_for(NamedQueue(name="M/M(n)/1", given=STEPS), "rate: p99_response_s<=1e6")
    assert found.value is not None
    assert found.value > 9.0


def test_closed_forms_are_met() -> None:
    rate = solve_for(NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0}), "rate: p99_response_s<=30")
    assert rate.value == pytest.approx(1 - math.log(100) / 30, abs=1e-6)
    slow = NamedQueue(name="M/M/1", given={"rate_rps": 1e-9})
    assert solve_for(slow, "service_rate: mean_response_s<=1e9").value == pytest.approx(2e-9)
    fast = NamedQueue(name="M/M/1", given={"service_rate_rps": 1e9})
    assert solve_for(fast, "rate: mean_response_s<=2e-9").value == pytest.approx(5e8)


def test_nothing_and_everything_are_said() -> None:
    one = NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0})
    nothing = solve_for(one, "rate: p99_response_s<=3")
    assert (nothing.verdict, nothing.value, nothing.answer) == ("nowhere", None, None)
    assert nothing.says.startswith("no value does: with ")
    assert "p99_response_s = 4.60" in nothing.says
    everything = solve_for(one, "rate: utilization<=1")
    assert (everything.verdict, everything.value) == ("everywhere", 0.999999)
    assert "wherever there is a steady state" in everything.says
    unlimited = solve_for(NamedQueue(name="M/M/inf", given={"service_rate_rps": 1.0}), "rate: mean_wait_s<=1")
    assert (unlimited.verdict, unlimited.value) == ("everywhere", None)
    assert "every value will do" in unlimited.says
    servers = NamedQueue(name="M/M/c", given={"rate_rps": 0.1, "service_rate_rps": 1.0})
    one_is_enough = solve_for(servers, "n_servers: p99_wait_s<=100")
    assert (one_is_enough.verdict, one_is_enough.value) == ("found", 1)
    assert one_is_enough.says == "1 is the smallest there can be"
    assert solve_for(servers, "n_servers: p99_response_s<=1").verdict == "nowhere"


@pytest.mark.parametrize(
    ("given", "text", "said"),
    [
        ({}, "rate", "solve: 'rate' names no unknown; write unknown: quantity<=number"),
        ({}, ": mean_wait_s<=1", "names no unknown"),
        ({}, "rate: mean_wait_s", "'mean_wait_s' is no condition"),
        ({}, "rate: mean_wait_s<=soon", "'soon' is not a finite number"),
        ({}, "rate: mean_wait_s<=nan", "'nan' is not a finite number"),
        ({}, "n_servers: mean_wait_s<=1", "'n_servers' cannot be the unknown; one of rate_rps"),
        ({}, "rat: mean_wait_s<=1", "did you mean 'rate'"),
        ({}, "rate: mean_wiat_s<=1", "solve: mean_wiat_s: unknown quantity .did you mean 'mean_wait_s'"),
        ({"rate_rps": 0.5}, "rate: mean_wait_s<=1", "rate_rps: is the unknown and given too"),
        ({"service_rate_rps": -1.0}, "rate: mean_wait_s<=1", "service_rate_rps: -1.0 must be > 0"),
        ({"service_rate_rps": None}, "rate: mean_wait_s<=1", "service_rate_rps: missing"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(given: dict[str, object], text: str, said: str) -> None:
    asked = NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0, **given})
    with pytest.raises(ConfigError, match=said):
        solve_for(asked, text)


def test_a_quantity_that_the_model_does_not_give_is_refused_with_its_reason() -> None:
    asked = NamedQueue(name="M/M/1-PS", given={"service_rate_rps": 1.0})
    with pytest.raises(ConfigError, match=r"solve: p99_wait_s: .* because all who are present are served"):
        solve_for(asked, "rate: p99_wait_s<=1")


def test_what_breaks_the_model_everywhere_is_said_as_it_is() -> None:
    asked = NamedQueue(name="M/G/1", given={"service": "pareto(alpha=1.5, low=1)"})
    with pytest.raises(ConfigError, match="moment 2 is infinite"):
        solve_for(asked, "rate: mean_wait_s<=1")


@given(st.floats(0.01, 0.99), st.sampled_from([1e-9, 1.0, 1e9]))
def test_the_largest_rate_of_a_load_is_that_load(load: float, service_rate: float) -> None:
    asked = NamedQueue(name="M/M/1", given={"service_rate_rps": service_rate})
    found = solve_for(asked, f"rate: utilization_frac<={load!r}")
    assert found.value is not None
    assert load * (1 - 2e-5) <= found.value / service_rate <= load


@pytest.mark.parametrize(
    ("name", "given", "limit"),
    [
        ("M/M/4", {"service_rate_rps": 2.0}, 8.0),
        ("M/G/1", {"service": G, "rate_rps": 5.0}, 1.0),
        ("M/D[1,16]/1", {"base_s": 0.1, "slope_s": 0.01}, 16 / 0.26),
        ("M/M(n)/1", {**STEPS, "max_running": 64}, 64 / (200 * 0.052)),
        ("M/M/2+M", {"service_rate_rps": 1.0, "mean_patience_s": 1.0}, None),
        ("M/M/1/5", {"service_rate_rps": 1.0}, None),
    ],
)  # fmt: skip
def test_the_stability_limit_is_found(name: str, given: dict[str, object], limit: float | None) -> None:
    found = stability_limit(NamedQueue(name=name, given=given))
    assert found == (None if limit is None else pytest.approx(limit, rel=2e-5))


@given(st.floats(1e-14, 1e14))
def test_numbers_of_six_digits_are_in_order(value: float) -> None:
    grid = Grid(whole=False)
    index = grid.index(value)
    assert grid.value(index) == pytest.approx(value, rel=5.001e-6)
    assert grid.value(index - 1) < grid.value(index) < grid.value(index + 1)
    assert grid.index(grid.value(index)) == index
