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
