"""What every prediction keeps: Little's law, order of percentiles, monotone in rate and machine, refusals."""

from __future__ import annotations

import math

import pytest

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.predict import MODELLED_SCHEDULERS, TIERS, limit_rps, predict, sweep
from qtheory.predict.demand import demand_of
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}


@pytest.mark.parametrize("scheduler", MODELLED_SCHEDULERS)
@pytest.mark.parametrize("tier", TIERS)
def test_littles_law_and_the_order_of_percentiles_hold(scheduler: str, tier: str) -> None:
    replica, workload = world(**CHAT, scheduler=scheduler)
    point = predict(replica, workload, rate_rps=min(4.0, 0.7 * limit_rps(replica, workload)), tier=tier)
    demand = demand_of(workload)
    served_rps = point.throughput_rps
    assert point.mean_itl_s is not None
    assert point.mean_decoding == pytest.approx(served_rps * demand.mean_decode * point.mean_itl_s, rel=0.01)
    for name in ("ttft", "tpot", "itl", "e2e"):
        levels: list[float] = [getattr(point, f"p{level}_{name}_s") for level in (50, 90, 95, 99)]
        assert levels == sorted(levels)
        assert levels[0] > 0
    assert point.mean_e2e_s > point.mean_ttft_s
    assert 0 <= point.goodput_frac <= 1


@pytest.mark.parametrize("tier", TIERS)
def test_more_load_means_longer_waits_and_less_goodput(tier: str) -> None:
    replica, workload = world(**CHAT | {"workload": "rag"}, scheduler="chunked")
    limit = limit_rps(replica, workload)
    points = sweep(replica, workload, [share * limit for share in (0.3, 0.6, 0.85)], tier=tier)
    for name in ("mean_ttft_s", "p99_ttft_s", "mean_tpot_s", "mean_decoding"):
        values = [getattr(point, name) for point in points]
        assert values == sorted(values)
    good = [point.goodput_frac for point in points]
    assert good == sorted(good, reverse=True)


def test_more_bandwidth_never_lowers_the_limit_at_fixed_memory() -> None:
    limits = []
    for share in (0.5, 0.7, 0.9):
        replica, workload = world(**CHAT, scheduler="chunked", mbu_frac=share, kv_blocks=28_000)
        limits.append(limit_rps(replica, workload))
    assert limits == sorted(limits)


def test_shedding_answers_above_the_limit_and_others_refuse() -> None:
    replica, workload = world(**CHAT | {"workload": "rag"}, scheduler="slo")
    limit = limit_rps(replica, workload)
    point = predict(replica, workload, rate_rps=1.3 * limit)
    assert 0.1 < point.shed_frac < 0.5
    for name in ("chunked", "fcfs"):
        with pytest.raises(UnstableError, match="not below the limit"):
            predict(replica, workload, rate_rps=3 * limit, scheduler=name)


def test_requests_of_one_token_have_no_time_per_token() -> None:
    replica, workload = world(**CHAT | {"workload": "rag"}, output="constant(1)", scheduler="fcfs")
    point = predict(replica, workload, rate_rps=2.0)
    assert point.mean_tpot_s is None
    assert point.mean_e2e_s == pytest.approx(point.mean_ttft_s)


def test_the_order_of_the_shortest_lowers_the_mean_wait_and_nothing_else() -> None:
    replica, workload = world(**CHAT | {"workload": "rag", "kv_blocks": 100_000})
    rate_rps = 0.8 * limit_rps(replica, workload)
    plain, shortest = (predict(replica, workload, rate_rps=rate_rps, scheduler=k) for k in ("chunked", "sjf"))
    assert shortest.p50_ttft_s < plain.p50_ttft_s
    assert shortest.mean_decoding == pytest.approx(plain.mean_decoding, rel=1e-6)


def test_bursts_make_waits_longer_and_are_noted() -> None:
    poisson, bursty = (world(**CHAT, arrivals=text) for text in ("poisson", "gamma(cv=2)"))
    plain, burst = predict(*poisson, rate_rps=5.0), predict(*bursty, rate_rps=5.0)
    assert burst.mean_ttft_s > 1.2 * plain.mean_ttft_s
    assert any("not Poisson" in text for text in burst.warnings)
    assert not plain.warnings


def test_what_has_no_model_or_tier_is_refused_with_the_nearest_name() -> None:
    replica, workload = world(**CHAT, scheduler="lifo")
    with pytest.raises(ConfigError, match="no model of 'lifo'"):
        predict(replica, workload, rate_rps=1.0)
    with pytest.raises(ConfigError, match="numeric"):
        predict(replica, workload, rate_rps=1.0, scheduler="fcfs", tier="numerical")


@pytest.mark.parametrize(("load", "in_time", "within"), [(0.5, 0.984, 0.01), (0.95, 0.865, 0.04)])
def test_shedding_while_slots_bind_is_answered_and_nobody_served_is_late(
    load: float, in_time: float, within: float
) -> None:
    replica, workload = world(**CHAT | {"max_seqs": 4})
    limit = limit_rps(replica, workload, scheduler="slo")
    point = predict(replica, workload, rate_rps=load * limit, scheduler="slo")
    assert point.binds == "slots"
    assert point.goodput_frac == pytest.approx(in_time, abs=within)  # of runs of 15,000 requests
    assert point.goodput_frac == pytest.approx(1 - point.shed_frac, abs=0.002)
    assert point.p99_ttft_s < 2.0
    if load > 0.9:
        assert point.shed_frac == pytest.approx(0.141, abs=0.04)
        assert point.p99_ttft_s == pytest.approx(1.966, rel=0.1)


def test_formulas_shed_what_does_not_fit_while_slots_bind() -> None:
    replica, workload = world(**CHAT | {"max_seqs": 4})
    limit = limit_rps(replica, workload, scheduler="slo")
    points = sweep(replica, workload, [load * limit for load in (0.5, 0.95, 1.3, 4.0)], scheduler="slo")
    simulated = [0.984, 0.865, 0.722]  # of runs of 15,000 requests
    assert [point.goodput_frac for point in points[:3]] == pytest.approx(simulated, abs=0.04)
    assert points[0].goodput_frac == pytest.approx(0.984, abs=0.02)
    flows = [point.rate_rps * point.goodput_frac for point in points]
    assert flows == sorted(flows)  # of those above the limit no more than that is served
    assert flows[-1] == pytest.approx(limit, rel=0.05)


@pytest.mark.parametrize(("load", "warns"), [(0.9, False), (0.98, True), (1.1, False), (1.46, False)])
def test_a_shedding_scheduler_is_near_its_limit_only_on_both_sides_of_it(load: float, warns: bool) -> None:
    replica, workload = world(**CHAT)
    rate = load * limit_rps(replica, workload, scheduler="slo")
    point = predict(replica, workload, rate_rps=rate, scheduler="slo", tier="closed")
    assert any("so close to 1" in note for note in point.warnings) == warns


@pytest.mark.parametrize("tier", TIERS)
def test_shedding_among_outputs_of_thousands_of_tokens_is_answered_near_the_limit(tier: str) -> None:
    replica, workload = world(hardware="a100", model="qwen2.5-14b", workload="reasoning")
    limit = limit_rps(replica, workload, scheduler="slo")
    point = predict(replica, workload, rate_rps=0.95 * limit, scheduler="slo", tier=tier)
    assert point.goodput_frac == pytest.approx(0.934, abs=0.05)  # of four runs of 3,000 requests
    assert point.binds == "KV memory"


def test_formulas_without_shedding_end_at_the_limit() -> None:
    replica, workload = world(**CHAT | {"max_seqs": 4}, scheduler="slo", shed="none")
    limit = limit_rps(replica, workload)
    with pytest.raises(UnstableError, match=r"nobody is shed; lower the rate"):
        predict(replica, workload, rate_rps=1.01 * limit, tier="closed")


def test_a_prefix_cache_that_no_model_knows_is_noted() -> None:
    cached, workload = world(**CHAT, prefix_cache=True)
    assert any("prefix cache" in text for text in predict(cached, workload, rate_rps=3.0).warnings)


def test_a_row_holds_every_number_and_the_summary_prints_units() -> None:
    replica, workload = world(**CHAT)
    point = predict(replica, workload, rate_rps=3.0, tier="closed")
    row = point.row()
    assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
    assert row["load_frac"] == pytest.approx(3.0 / row["limit_rps"])
    assert "mean TTFT (s)" in point.summary()
    assert list(point.to_frame().columns) == list(row)
