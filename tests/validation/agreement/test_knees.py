"""The knee is where the share of good requests falls through 90 %, in theory and in simulation alike."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from validation.agreement import Effort, quick
from validation.agreement.knees import find_knee

SCENARIO = next(cell for cell in quick() if cell.scheduler == "chunked").scenario()
EFFORT = Effort(
    first_requests=200, most_requests=4_000, overload_requests=200, knee_requests=200, n_replications=2
)
CAPACITY = 10.0


def _share(rate: float, knee: float) -> float:
    """Nine tenths at the knee, falling more steeply beyond it."""
    return max(1 - 0.1 * (rate / knee) ** 8, 0.0)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Knees of both tiers and of the simulator, its half-width, and the requests that it was given."""
    knees = import_module("validation.agreement.knees")
    made: dict[str, Any] = {"numeric": 6.0, "closed": 6.3, "sim": 5.9, "half": 0.001, "requests": []}

    def predict(*_: object, rate_rps: float, tier: str) -> SimpleNamespace:
        if rate_rps >= CAPACITY:
            raise UnstableError(f"rate_rps={rate_rps} is not below the limit")
        if made[tier] is None:
            raise ConfigError("no model there")
        return SimpleNamespace(goodput_frac=_share(rate_rps, made[tier]))

    def run(scenario: Any, *, study: object) -> SimpleNamespace:
        made["requests"].append(scenario.requests)
        share = _share(scenario.rate_rps, made["sim"])
        limits = {"goodput_frac": (share - made["half"], share + made["half"])}
        return SimpleNamespace(result=SimpleNamespace(goodput_frac=share, limits=limits))

    monkeypatch.setattr(knees, "predict", predict)
    monkeypatch.setattr(knees, "run", run)
    return made


def test_both_tiers_and_the_simulator_have_their_own(world: dict[str, Any]) -> None:
    found = find_knee(SCENARIO, CAPACITY, EFFORT)
    assert found.predicted_rps == pytest.approx({"numeric": 6.0, "closed": 6.3}, rel=0.002)
    assert found.rate_rps == pytest.approx(5.9, rel=0.003)
    assert found.error("numeric") == pytest.approx(6.0 / 5.9 - 1, abs=0.004)


@pytest.mark.parametrize("simulated", [1.0, 3.0, 9.0])
def test_a_simulated_knee_far_from_the_predicted_one_is_found_too(
    world: dict[str, Any], simulated: float
) -> None:
    world["sim"] = simulated
    assert find_knee(SCENARIO, CAPACITY, EFFORT).rate_rps == pytest.approx(simulated, rel=0.005)


def test_a_blurred_knee_is_simulated_longer(world: dict[str, Any]) -> None:
    find_knee(SCENARIO, CAPACITY, EFFORT)
    assert max(world["requests"]) == 100
    world["half"] = 0.02
    found = find_knee(SCENARIO, CAPACITY, EFFORT)
    assert max(world["requests"]) > 200
    slope = 0.8 / 5.9  # of the share at the knee
    assert found.half_frac == pytest.approx(0.02 / slope / 5.9, rel=0.2)


def test_a_tier_that_refuses_has_no_knee(world: dict[str, Any]) -> None:
    world["numeric"] = None
    found = find_knee(SCENARIO, CAPACITY, EFFORT)
    assert set(found.predicted_rps) == {"closed"}
    assert found.error("numeric") is None


def test_a_load_that_is_never_good_has_a_knee_of_nothing(world: dict[str, Any]) -> None:
    world |= {"numeric": 1e-3, "closed": 1e-3, "sim": 1e-3}
    found = find_knee(SCENARIO, CAPACITY, EFFORT)
    assert (found.rate_rps, found.error("numeric")) == (0.0, 0.0)
