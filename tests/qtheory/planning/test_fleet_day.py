"""Fleets that stay as they are while the load changes."""

from __future__ import annotations

import pytest

from qtheory.planning.fleet_day import FixedFleet, fixed_fleets
from qtheory.planning.fleet_load import load_of
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import workload_of


def fleets(n_replicas: int, *, scheduler: str = "chunked", rate_rps: float = 12.0) -> tuple[FixedFleet, ...]:
    scenario = Scenario(
        hardware="a100",
        model="llama-3.1-8b",
        scheduler=scheduler,
        arrivals="profile(rates=[1, 2, 1], lengths_s=[7200, 7200, 7200])",
        rate_rps=rate_rps,
    )
    return fixed_fleets(replica_of(scenario), load_of(workload_of(scenario)), n_replicas, goodput_frac=0.9)


def test_the_full_fleet_misses_no_hour() -> None:
    full = fleets(3)[0]
    assert (full.n_replicas, full.n_missed, full.overloaded_s) == (3, 0, 0)
    assert full.goodput_frac > 0.99


def test_a_backlog_is_what_came_too_much_and_is_gone_as_fast_as_it_can_be() -> None:
    fewer = fleets(3, rate_rps=14.0)[1]  # 10.5, 21, 10.5 req/s for twice the limit of 9.005
    assert fewer.overloaded_s == pytest.approx(7200)
    gathered = (21 - 2 * 9.005) * 7200
    assert fewer.peak_waiting == pytest.approx(gathered, rel=0.03)
    assert fewer.late_s == pytest.approx(gathered / (2 * 9.005 - 10.5), rel=0.05)
    assert [stage.goodput_frac > 0.9 for stage in fewer.stages] == [True, True, False, False, False, True]


def test_a_scheduler_without_a_model_of_overload_has_the_full_fleet_alone() -> None:
    assert [fleet.n_replicas for fleet in fleets(3, scheduler="sjf", rate_rps=14.0)] == [3]
