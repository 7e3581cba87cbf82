"""Replicas behind a router that divides blindly."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.predict import (
    limit_rps,
    predict,
    predict_over_time,
    predict_replicas,
    predict_replicas_over_time,
)
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}


def test_a_random_part_of_poisson_arrivals_is_poisson() -> None:
    replica, workload = world(**CHAT)
    one = predict(replica, workload, rate_rps=5.0, tier="closed")
    many = predict_replicas(replica, workload, n_replicas=3, rate_rps=15.0, tier="closed")
    assert (many.mean_ttft_s, many.p99_tpot_s) == (one.mean_ttft_s, one.p99_tpot_s)
    assert many.mean_decoding == pytest.approx(3 * one.mean_decoding)
    assert many.load_frac == pytest.approx(one.load_frac)
    assert not many.warnings


def test_bursts_are_shared_and_the_more_so_in_turn() -> None:
    replica, workload = world(**CHAT, arrivals="gamma(cv=3)")
    found = [
        predict_replicas(replica, workload, n_replicas=4, rate_rps=24.0, router=router, tier="closed")
        for router in ("random", "round_robin")
    ]
    alone = predict(replica, workload, rate_rps=6.0, tier="closed")
    waits = [found[1].mean_ttft_s, found[0].mean_ttft_s, alone.mean_ttft_s]
    assert waits == sorted(waits)


def test_regular_arrivals_are_noted_and_load_aware_routers_refused() -> None:
    replica, workload = world(**CHAT)
    point = predict_replicas(
        replica, workload, n_replicas=4, rate_rps=20.0, router="round_robin", tier="closed"
    )
    assert "more regular than Poisson" in point.warnings[0]
    with pytest.raises(ConfigError, match="router"):
        predict_replicas(replica, workload, n_replicas=4, rate_rps=20.0, router="least_requests")


@pytest.mark.parametrize("scheduler", ["chunked", "static"])
def test_replicas_that_are_asked_for_too_much_say_so_of_all_of_them(scheduler: str) -> None:
    replica, workload = world(**CHAT)
    limit = 2 * limit_rps(replica, workload, scheduler=scheduler)
    told = rf"^rate_rps=100 is not below the limit of {limit:.4g} req/s"
    with pytest.raises(UnstableError, match=told):
        predict_replicas(replica, workload, n_replicas=2, rate_rps=100.0, scheduler=scheduler)


def test_replicas_of_a_day_that_repeats_begin_it_with_what_is_left_of_the_last() -> None:
    day = {"arrivals": "day(peak_to_mean=1.6,period_s=400)", "scheduler": "chunked"}
    two, one = (world(**CHAT | day, rate_rps=rate) for rate in (13.0, 6.5))
    found = predict_replicas_over_time(*two, n_replicas=2, tier="closed", repeats=True)
    alone, fresh = (predict_over_time(*one, tier="closed", repeats=repeats) for repeats in (True, False))
    assert found.goodput_frac == pytest.approx(alone.goodput_frac)
    assert found.stretches[0].mean_ttft_s == pytest.approx(alone.stretches[0].mean_ttft_s)
    assert alone.stretches[0].mean_ttft_s > fresh.stretches[0].mean_ttft_s
