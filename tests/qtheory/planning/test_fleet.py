"""Fleets: sizes against the curve of one replica, prices that are asked for, loads that change."""

from __future__ import annotations

import math

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.planning.fleet import plan_fleet
from qtheory.planning.fleet_candidates import Choices, candidates_of
from qtheory.planning.fleet_curve import Curve, theory_curve
from qtheory.planning.fleet_doubt import Doubt
from qtheory.planning.fleet_load import load_of, share_of
from qtheory.planning.fleet_plan import hours_of
from qtheory.planning.fleet_size import Need, OutOfReachError, fleet_of, replicas_for
from qtheory.planning.knee import knee
from qtheory.planning.prices import Price, parse_prices, price_points, prices_of
from qtheory.system.hardware import find_hardware
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import workload_of

MODEL = "llama-3.1-8b"


def falling(knee_rps: float) -> Curve:
    return Curve(
        answered_by="theory, closed",
        knee_rps=knee_rps,
        at=lambda rate: {"goodput_frac": 1 - 0.1 * rate / knee_rps},
    )


@pytest.mark.parametrize(("rate", "n"), [(0.1, 1), (4.0, 1), (4.001, 2), (40.0, 10), (41.0, 11)])
def test_a_fleet_is_the_smallest_below_the_knee(rate: float, n: int) -> None:
    assert fleet_of(Need(rate_rps=rate), lambda _: falling(4.0), lambda _: Doubt()).n_replicas == n


def test_spare_replicas_and_headroom_come_on_top() -> None:
    need = Need(rate_rps=10.0, headroom_frac=0.3, spare=2)
    fleet = fleet_of(need, lambda _: falling(4.0), lambda _: Doubt())
    assert (fleet.n_needed, fleet.n_replicas) == (4, 6)
    assert fleet.point["goodput_frac"] == pytest.approx(1 - 0.1 * 10 / 6 / 4)


def test_a_wanted_certainty_takes_more_replicas_and_reaches_it() -> None:
    doubt = Doubt(bias_frac=0.02, model_frac=0.05)
    n = replicas_for(40.0, 4.0, doubt, 0.01)
    assert n > 10
    assert doubt.miss_prob(40.0 / n, 4.0) <= 0.01 < doubt.miss_prob(40.0 / (n - 1), 4.0)


def test_goodput_that_is_too_low_at_low_rates_too_is_out_of_reach() -> None:
    never = Curve(
        answered_by="theory, closed", knee_rps=None, fails="TPOT", at=lambda _: {"goodput_frac": 0.5}
    )
    with pytest.raises(OutOfReachError, match="most miss TPOT"):
        fleet_of(Need(rate_rps=1.0), lambda _: never, lambda _: Doubt())


def test_a_missing_price_is_asked_for_by_name() -> None:
    with pytest.raises(ConfigError, match=r"none of h200, b200; give --price h200=DOLLARS .*3-year rental"):
        prices_of([find_hardware("h200"), find_hardware("b200")])


def test_every_stated_price_is_of_a_preset_and_has_a_source() -> None:
    for name in ("h100", "h200", "mi300x", "l4"):
        assert find_hardware(name).name == name
        assert all(point.source and point.date for point in price_points(name))


@pytest.mark.parametrize("text", ["h100", "h100=", "=2", "h100=two", "h100=-1", "h100=1,h100=2", "h1000=2"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"price|hardware"):
        parse_prices([text])


def plan(rate: float, **more: str) -> list[tuple[str, bool, str]]:
    scenario = Scenario(model=MODEL, workload="chat", rate_rps=rate, **more)  # type: ignore[arg-type]
    prices = {name: Price(hardware=name, usd_per_hour=usd) for name, usd in (("h100", 3.0), ("l4", 1.0))}
    made = candidates_of(scenario, Choices(hardware=("h100", "l4"), schedulers=("chunked", "fair")), prices)
    found = plan_fleet(made, load_of(workload_of(scenario)), Need(rate_rps=rate))
    return [(one.candidate.told, one.is_answered, one.reason) for one in found.options]


def test_the_cheapest_is_first_and_what_has_no_model_is_not_a_number() -> None:
    options = plan(15.0)
    assert options[0][:2] == ("1 x h100, bf16, chunked, 2,048 tokens a step", True)
    refused = {told: why for told, answered, why in options if not answered}
    assert all("no model of fair" in why for told, why in refused.items() if "fair" in told)
    assert sum("fair" in told for told in refused) == 2


@pytest.mark.parametrize(("tp", "told"), [(1, "1+2 x h100, bf16"), (2, "1+2 x (2 x h100), bf16")])
def test_pools_are_told_as_instances_that_prefill_and_that_decode(tp: int, told: str) -> None:
    prices = {"h100": Price(hardware="h100", usd_per_hour=1.0)}
    scenario = Scenario(model="llama-3.1-8b", decode_replicas=2)
    choices = Choices(hardware=("h100",), tps=(tp,), schedulers=("disaggregated",))
    (one,) = candidates_of(scenario, choices, prices)
    assert one.told.startswith(told)
    assert one.n_accelerators == 3 * tp


def test_conversations_are_not_predicted() -> None:
    options = plan(4.0, conversations="turns(n=3, think_s=1, message=20)")
    assert not any(answered for _, answered, _ in options)


def test_a_model_that_does_not_fit_says_so() -> None:
    prices = {"l4": Price(hardware="l4", usd_per_hour=1.0)}
    (one,) = candidates_of(Scenario(model="llama-3.1-70b"), Choices(hardware=("l4",)), prices)
    assert one.replica is None
    assert "does not fit" in one.reason


def test_a_day_has_fewer_replicas_at_night_and_costs_less() -> None:
    load = load_of(workload_of(Scenario(arrivals="day(peak_to_mean=1.8)", rate_rps=10.0)))
    assert load.peak_rps == pytest.approx(18.0)
    assert load.mean_rps == pytest.approx(10.0)
    price = Price(hardware="l4", usd_per_hour=2.0)
    (one,) = candidates_of(Scenario(model=MODEL), Choices(hardware=("l4",)), {"l4": price})
    need = Need(rate_rps=load.peak_rps)
    fleet = fleet_of(need, lambda _: falling(4.0), lambda _: Doubt())
    hours = hours_of(one, fleet, load, need)
    assert [hour.n_replicas for hour in hours] == [
        math.ceil(hour.stage.peak_rps / 4 - 1e-9) for hour in hours
    ]
    assert sum(hour.usd for hour in hours) < 24 * 2.0 * fleet.n_replicas


def test_splitting_at_random_leaves_poisson_and_thins_bursts() -> None:
    poisson, bursty = (workload_of(Scenario(arrivals=text)) for text in ("poisson", "gamma(cv=3)"))
    assert share_of(poisson, 5) is poisson
    assert share_of(bursty, 8).arrivals.scv == pytest.approx(2.0)  # type: ignore[attr-defined]


def test_the_closed_knee_of_a_plan_is_the_knee_and_does_there_what_it_must() -> None:
    scenario = Scenario(hardware="h100", model=MODEL, scheduler="static", ttft_slo_s=1.0, tpot_slo_s=0.05)
    replica, workload = replica_of(scenario), workload_of(scenario)
    curve = theory_curve(replica, workload, goodput_frac=0.9, tier="closed")
    assert curve.knee_rps == knee(replica, workload, tier="closed").knee_rps
    fleet = fleet_of(Need(rate_rps=40.0), lambda _: curve, lambda _: Doubt())
    assert fleet.n_replicas == math.ceil(40.0 / fleet.knee_rps)


def test_the_knee_of_a_plan_is_the_knee() -> None:
    scenario = Scenario(hardware="a100", model=MODEL, scheduler="chunked", max_seqs=16, rate_rps=3.0)
    replica, workload = replica_of(scenario), workload_of(scenario)
    curve = theory_curve(replica, workload, goodput_frac=0.9, tier="numeric", near_rps=3.0)
    assert curve.knee_rps == knee(replica, workload).knee_rps
