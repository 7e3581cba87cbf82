"""The knee is where the share of good requests falls through 90 %, in theory and in simulation alike."""

from __future__ import annotations

import math
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.system.replica import replica_of
from qtheory.system.workload.from_scenario import workload_of
from validation.agreement import Effort, quick
from validation.agreement._knee_predicted import predicted_knees
from validation.agreement._knee_simulated import SimulatedKnee, knee_from, simulate_knee
from validation.agreement._simulate import Asked

SCENARIO = next(cell for cell in quick() if cell.scheduler == "chunked").scenario()
QUESTION = Asked(replica=replica_of(SCENARIO), workload=workload_of(SCENARIO), rate_rps=1.0)
EFFORT = Effort(
    first_requests=200, most_requests=40_000, overload_requests=200, knee_requests=800, n_replications=2
)
CAPACITY = 10.0
SHARP = 0.01


def _share(rate: float, knee: float) -> float:
    """Nine tenths at the knee, falling more steeply beyond it."""
    return max(1 - 0.1 * (rate / knee) ** 8, 0.0)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Knees of both tiers and of the simulator, its half-width, and what each was asked."""
    made: dict[str, Any] = {
        "numeric": 6.0,
        "closed": 6.3,
        "sim": 5.9,
        "half": 0.001,
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

    def run(scenario: Any, *, study: object) -> SimpleNamespace:
        made["runs"].append((scenario.requests, scenario.rate_rps))
        share = _share(scenario.rate_rps, made["sim"])
        limits = {"goodput_frac": (share - made["half"], share + made["half"])}
        return SimpleNamespace(result=SimpleNamespace(goodput_frac=share, limits=limits))

    monkeypatch.setattr(import_module("validation.agreement._knee_predicted"), "predict", predict)
    monkeypatch.setattr(import_module("validation.agreement._knee_simulated"), "run", run)
    return made


def _simulated() -> SimulatedKnee:
    return simulate_knee(SCENARIO, CAPACITY, EFFORT, sharp_frac=SHARP)


@pytest.mark.parametrize("knee", [1.0, 3.0, 5.9, 9.0])
def test_a_simulated_knee_is_found_wherever_it_lies_and_asks_no_theory(
    world: dict[str, Any], knee: float
) -> None:
    world["sim"] = knee
    assert _simulated().rate_rps == pytest.approx(knee, rel=0.005)
    assert not world["asked"]


def test_a_blurred_knee_gets_the_requests_that_it_takes_and_no_more_than_allowed(
    world: dict[str, Any],
) -> None:
    assert _simulated().n_requests == 400  # half of the usual, where a rough look was sharp already
    world["half"] = 0.02
    found = _simulated()
    slope = 0.8 / 5.9  # of the share at the knee
    half = 0.02 / slope / 5.9
    assert found.half_frac == pytest.approx(half, rel=0.2)
    assert found.n_requests == pytest.approx(1.2 * 100 * (half / SHARP) ** 2, rel=0.3)
    world["half"] = 0.2
    assert _simulated().n_requests == pytest.approx(1.2 * 100 * 40)


def test_the_same_search_can_be_made_again_from_where_it_began(world: dict[str, Any]) -> None:
    found = _simulated()
    before = list(world["runs"])
    again = knee_from(SCENARIO, CAPACITY, EFFORT, start_rps=found.start_rps, n_requests=found.n_requests)
    assert again == found
    runs = world["runs"][len(before) :]
    assert runs == before[-len(runs) :]


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
