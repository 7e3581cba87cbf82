"""The knee is where the share of good requests falls through 90 %, in theory and in simulation alike."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of
from validation.agreement import Effort, quick
from validation.agreement._knee_predicted import predicted_knees
from validation.agreement._knee_simulated import SimulatedKnee, simulate_knee
from validation.agreement._simulate import Asked
from validation.agreement.capacity import Overload
from validation.refine import Plan, Sample

SCENARIO = next(cell for cell in quick() if cell.scheduler == "chunked").scenario()
QUESTION = Asked(replica=replica_of(SCENARIO), workload=workload_of(SCENARIO), rate_rps=1.0)
EFFORT = Effort(
    first_requests=200, most_requests=400, overload_requests=200, knee_requests=2_000_000, n_replications=2
)
CAPACITY = 10.0
OVERLOAD = Overload(rate_rps=CAPACITY, error_rps=0.02, limit_rps=9.98, limit_error_rps=0.01)
SHARP = 0.01
FOUR_ERRORS = 2 * SHARP
"""A knee is found by chance: an interval of 95 % that is ``SHARP`` to each side is two standard errors."""


def _share(rate: float, knee: float) -> float:
    """Nine tenths at the knee, falling more steeply beyond it."""
    return max(1 - 0.1 * (rate / knee) ** 8, 0.0)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Knees of both tiers and of the simulator, requests for one that is worth an independent one, and what
    each was asked."""
    made: dict[str, Any] = {
        "numeric": 6.0,
        "closed": 6.3,
        "sim": 5.9,
        "worth": 20.0,
        "refused": math.inf,
        "runs": [],
        "asked": [],
    }

    def predict(*_: object, rate_rps: float, tier: str) -> SimpleNamespace:
        made["asked"].append((tier, rate_rps))
        if rate_rps >= CAPACITY:
            raise UnstableError(f"rate_rps={rate_rps} is not below the limit")
        if made[tier] is None or rate_rps > made["refused"]:
            raise ConfigError("no model there")
        return SimpleNamespace(goodput_frac=_share(rate_rps, made[tier]))

    def sample(plan: Plan, rate_rps: float, n_requests: int, index: int) -> Sample:
        made["runs"].append((rate_rps, n_requests, index))
        worth = max(round(n_requests / made["worth"]), 1)
        rng = np.random.default_rng([index, plan.scenario.seed])
        bad = rng.binomial(worth, 1 - _share(rate_rps, made["sim"])) / worth
        return Sample(
            rate_rps=rate_rps,
            n_requests=n_requests,
            bad_frac=float(bad),
            ahead_frac=float(rng.normal(0.0, 0.01)),
            n_effective=float(worth),
            missed={},
            mean_e2e_s=1.0,
            waits={},
        )

    monkeypatch.setattr(import_module("validation.agreement._knee_predicted"), "predict", predict)
    for module in ("validation.agreement._knee_simulated", "validation.refine"):
        monkeypatch.setattr(import_module(module), "sample", sample)
    return made


def _simulated(scenario: Scenario = SCENARIO, effort: Effort = EFFORT) -> SimulatedKnee:
    return simulate_knee(scenario, OVERLOAD, effort, sharp_frac=SHARP)


@pytest.mark.parametrize("knee", [1.0, 3.0, 5.9, 9.0])
def test_a_simulated_knee_is_found_wherever_it_lies_and_asks_no_theory(
    world: dict[str, Any], knee: float
) -> None:
    world["sim"] = knee
    found = _simulated()
    assert found.rate_rps == pytest.approx(knee, rel=FOUR_ERRORS)
    assert found.half_frac <= SHARP
    assert found.n_requests == sum(n for _, n, _ in world["runs"])
    assert not world["asked"]
    assert _simulated() == found


def test_an_overload_that_is_kept_to_ten_digits_leads_to_the_same_knee(world: dict[str, Any]) -> None:
    found = _simulated()
    near = replace(OVERLOAD, rate_rps=CAPACITY * (1 + 1e-11))
    assert simulate_knee(SCENARIO, near, EFFORT, sharp_frac=SHARP) == found


def test_a_blurred_knee_gets_more_requests_and_is_wide_where_they_end(world: dict[str, Any]) -> None:
    sharp = _simulated()
    world["worth"] = 500.0
    blurred = _simulated()
    assert blurred.n_requests > 1.5 * sharp.n_requests
    ended = _simulated(effort=replace(EFFORT, knee_requests=450_000))
    assert SHARP < ended.half_frac < math.inf
    assert ended.rate_rps == pytest.approx(5.9, rel=2 * ended.half_frac)
    assert _simulated(effort=replace(EFFORT, knee_requests=100_000)).half_frac == math.inf  # of a few runs


def test_above_the_limit_a_queue_that_grows_is_given_time(world: dict[str, Any]) -> None:
    world["sim"] = 10.6
    shortest_first = replace(SCENARIO, scheduler="sjf")
    assert _simulated(shortest_first).rate_rps == pytest.approx(10.6, rel=FOUR_ERRORS)
    assert max(n for _, n, _ in world["runs"]) == 60_000
    world["runs"].clear()
    assert _simulated().rate_rps == pytest.approx(10.6, rel=FOUR_ERRORS)
    assert max(n for _, n, _ in world["runs"]) < 60_000


def test_nine_tenths_at_the_least_rate_is_no_knee_that_can_be_told(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "_share", lambda *_: 0.9)
    assert _simulated() == SimulatedKnee(rate_rps=None, half_frac=math.inf, n_requests=128_000)


def test_a_share_that_never_falls_and_runs_that_fit_no_place_are_undecided(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world["sim"] = 1e9
    assert _simulated() == SimulatedKnee(rate_rps=None, half_frac=math.inf, n_requests=16_000)
    world["sim"] = 5.9
    monkeypatch.setattr(import_module("validation.refine"), "locate", lambda *_, **__: None)
    assert _simulated() == SimulatedKnee(rate_rps=None, half_frac=math.inf, n_requests=16_000)


def test_a_scenario_that_is_wrong_is_refused_and_not_undecided(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> list[Sample]:
        raise ConfigError("wrong")

    monkeypatch.setattr(import_module("validation.refine"), "sample", refuse)
    with pytest.raises(ConfigError, match="wrong"):
        _simulated()


@pytest.mark.parametrize("numeric", [0.8, 4.0, 6.0, 6.4, 9.5])
def test_each_tier_has_a_knee_of_its_own_near_that_of_the_other_or_far(
    world: dict[str, Any], numeric: float
) -> None:
    world["numeric"] = numeric
    found = predicted_knees(QUESTION, CAPACITY)
    assert found == pytest.approx({"numeric": numeric, "closed": 6.3}, rel=0.005)


def test_a_chain_whose_knee_is_that_of_the_formulas_is_asked_at_two_rates(world: dict[str, Any]) -> None:
    world["numeric"] = 6.35
    found = predicted_knees(QUESTION, CAPACITY)
    assert found["numeric"] == pytest.approx(6.35, rel=0.005)
    assert sum(tier == "numeric" for tier, _ in world["asked"]) == 2


def test_a_tier_that_refuses_has_no_knee(world: dict[str, Any]) -> None:
    world["numeric"] = None
    assert set(predicted_knees(QUESTION, CAPACITY)) == {"closed"}


def test_a_knee_below_the_rates_that_are_refused_is_found(world: dict[str, Any]) -> None:
    world["refused"] = 7.4
    found = predicted_knees(QUESTION, CAPACITY)
    assert found == pytest.approx({"numeric": 6.0, "closed": 6.3}, rel=0.005)
    world["refused"] = 5.0
    assert predicted_knees(QUESTION, CAPACITY) == {}


def test_a_load_that_is_never_good_has_a_knee_of_nothing(world: dict[str, Any]) -> None:
    world |= {"numeric": 1e-3, "closed": 1e-3, "sim": 1e-3}
    assert _simulated().rate_rps == 0.0
    assert predicted_knees(QUESTION, CAPACITY) == {"numeric": 0.0, "closed": 0.0}
    assert sum(tier == "numeric" for tier, _ in world["asked"]) == 4
