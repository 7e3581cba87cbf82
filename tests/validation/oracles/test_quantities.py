"""Quantities that follow from others, in the table's words."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.queues.multi import MMc, MMcK
from validation.oracles._quantities import quantity_of
from validation.oracles.checker import known_models


def test_throughput_and_numbers_follow_from_the_laws() -> None:
    mm1 = MMc(rate_rps=0.8, service_rate_rps=1.0, n_servers=1).solve()
    assert quantity_of(mm1, "throughput", {}) == pytest.approx(0.8)
    assert quantity_of(mm1, "var_number", {}) == pytest.approx(0.8 / 0.04)
    assert quantity_of(mm1, "p99_number", {}) == 20  # 0.8^21 < 0.01 <= 0.8^20
    assert quantity_of(mm1, "tail_response", {"t": 5.0}) == pytest.approx(2.718281828459045**-1)
    finite = MMcK(rate_rps=3.0, service_rate_rps=1.0, n_servers=4, capacity=12).solve()
    assert quantity_of(finite, "throughput", {}) == finite.throughput_rps


def test_what_is_not_there_is_said() -> None:
    mm1 = MMc(rate_rps=0.8, service_rate_rps=1.0, n_servers=1).solve()
    with pytest.raises(ConfigError, match="'mean_slowdown' is not in the answer of QueueResult"):
        quantity_of(mm1, "mean_slowdown", {})


def test_classes_and_stations_are_counted_from_one() -> None:
    classes = {"lam": [1.0, 1.5], "mu": 1.0, "c": 3}
    priority = known_models()["M/M/c priority nonpreemptive"]
    assert priority(classes, "p99_wait_class1") < priority(classes, "p99_wait_class2")
    with pytest.raises(ConfigError, match="there are 2"):
        priority(classes, "mean_wait_class3")
    jackson = known_models()["open Jackson network"]
    tandem = {"external": [1.0, 0.0], "routing": [[0, 1], [0, 0]], "mu": [2.0, 4.0], "c": [1, 1]}
    assert jackson(tandem, "mean_wait_station1") == pytest.approx(0.5)
    assert jackson(tandem, "mean_number_station2") == pytest.approx(1 / 3)
    with pytest.raises(ConfigError, match="station3"):
        jackson(tandem, "mean_number_station3")


def test_all_customers_are_the_mixture_of_their_classes() -> None:
    exponential = {"lam": [0.3, 0.4], "mean_service": [1.0, 1.0]}
    general = {
        "lam": [0.3, 0.4],
        "service": [{"dist": "exp", "mean": 1.0}, {"dist": "exp", "mean": 1.0}],
    }
    servers = {"lam": [0.3, 0.4], "mu": 1.0, "c": 1}
    one = known_models()["M/M/1 priority nonpreemptive"]
    for quantity in ("mean_wait", "var_wait", "p99_wait", "prob_wait", "p50_response", "mean_queue_class2"):
        found = one(exponential, quantity)
        assert known_models()["M/G/1 priority nonpreemptive"](general, quantity) == found
        many = known_models()["M/M/c priority nonpreemptive"](servers, quantity)
        assert many == pytest.approx(found, rel=1e-7)
    waits = one(exponential, "mean_wait_class1") * 3 / 7 + one(exponential, "mean_wait_class2") * 4 / 7
    assert one(exponential, "mean_wait") == pytest.approx(waits)
    assert one(exponential, "prob_wait_class2") == pytest.approx(0.7)
    assert one(exponential, "mean_number_class1") == pytest.approx(
        0.3 * one(exponential, "mean_response_class1")
    )
    with pytest.raises(ConfigError, match="there are 2"):
        one(exponential, "prob_wait_class3")


def test_stations_of_a_closed_network_obey_littles_law() -> None:
    closed = known_models()["closed product-form network"]
    users = {"demands": [0.2, 0.9], "servers": [1, 4], "population": 12, "think": 1.5}
    for k in (1, 2):
        rate = closed(users, f"throughput_station{k}")
        assert closed(users, f"mean_queue_station{k}") == pytest.approx(
            rate * closed(users, f"mean_wait_station{k}")
        )
    busy = closed(users, "mean_number_station2") - closed(users, "mean_queue_station2")
    assert busy == pytest.approx(4 * closed(users, "utilization_station2"))
    two = known_models()["closed two-class product-form network"]
    classes = {"population": [3, 2], "demands": [[0.2, 0.4], [0.5, 0.1]], "think": [0.0, 1.0]}
    everybody = sum(two(classes, f"mean_number_station{k}") for k in (1, 2))
    assert everybody == pytest.approx(sum(two(classes, f"mean_number_class{k}") for k in (1, 2)))
    assert everybody == pytest.approx(5 - two(classes, "throughput_class2") * 1.0)


@pytest.mark.parametrize(
    ("model", "parameters", "limit"),
    [
        ("M/M/c", {"lam": 1.0, "mu": 2.0, "c": 3}, 6.0),
        ("M/D/1", {"lam": 1.0, "D": 0.1}, 10.0),
        ("M^[X]/M/1", {"lam": 0.1, "batch_pmf": [0.5, 0.5], "mu": 3.0}, 2.0),
        ("M/D^{[1,b]}/1", {"lam": 1.0, "alpha": 0.1, "beta": 0.05, "b": 2}, 10.0),
        ("M/D^{[1,inf]}/1", {"lam": 1.0, "alpha": 0.1, "beta": 0.05}, 20.0),
        ("E_k/M/c", {"lam": 1.0, "mu": 2.0, "c": 3, "k": 2}, 6.0),
        ("MAP/M/1", {"D0": [[-1.0]], "D1": [[1.0]], "mu": 1.2}, 1.2),
    ],
)
def test_the_limit_of_stability_is_told(model: str, parameters: dict[str, object], limit: float) -> None:
    assert known_models()[model](parameters, "max_arrival_rate") == pytest.approx(limit)


def test_formulas_hold_for_every_queue_with_two_moments() -> None:
    service = {"dist": "gamma", "mean": 0.5, "scv": 2.0}
    wait = known_models()["M/G/1"]({"lam": 1.2, "service": service}, "mean_wait")
    for name in ("approx_kingman_mean_wait", "approx_klb_mean_wait", "approx_allen_cunneen_mean_wait"):
        found = known_models()["M/G/1"]({"lam": 1.2, "service": service}, name)
        assert found == pytest.approx(wait)  # exact for Poisson arrivals at one server
    with pytest.raises(ConfigError, match="for one server"):
        known_models()["M/M/c"]({"lam": 1.2, "mu": 1.0, "c": 2}, "approx_kingman_mean_wait")
