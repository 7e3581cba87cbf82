"""The scheduler disaggregated by the front door: the pools that a replica has, both tiers, and refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.planning.fleet_candidates import Choices, candidates_of
from qtheory.planning.prices import Price
from qtheory.predict import PoolPlan, limit_rps, predict, predict_pools
from qtheory.system.pools import PoolSpec
from qtheory.system.scenario import Scenario
from tests.qtheory.predict.worlds import world

APART = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat", "scheduler": "disaggregated"}


def test_the_front_door_answers_as_the_pools_do() -> None:
    replica, workload = world(**APART, prefill_replicas=2, decode_replicas=3, link_bytes_per_s=5e9)
    speed = 5e9 / replica.model.kv_bytes_per_token(replica.roofline.kv_dtype)
    plan = PoolPlan(n_prefill=2, n_decode=3, link_tokens_per_s=speed)
    by_name = predict(replica, workload, rate_rps=20.0)
    direct = predict_pools(replica, replica, workload, plan, rate_rps=20.0)
    assert by_name.mean_e2e_s == pytest.approx(direct.mean_e2e_s)
    assert by_name.limit_rps == pytest.approx(direct.limit_rps) == limit_rps(replica, workload)
    assert by_name.binds == direct.binds


def test_a_replica_without_pools_is_taken_as_one_and_one() -> None:
    replica, workload = world(**APART)
    assert replica.pools == PoolSpec()
    plain = replace(replica, pools=None)
    assert predict(plain, workload, rate_rps=5.0) == predict(replica, workload, rate_rps=5.0)


def test_bursts_that_are_dealt_out_among_prefill_instances_wait_as_in_the_simulator() -> None:
    replica, workload = world(
        hardware="l4",
        model="llama-3.2-1b",
        workload="rag",
        scheduler="disaggregated(max_seqs=64)",
        prefill_replicas=3,
        arrivals="gamma(cv=2)",
    )
    point = predict(replica, workload, rate_rps=10.7)
    assert point.mean_ttft_s == pytest.approx(0.1806, rel=0.06)  # simulated, ``simulated dealt``
    assert point.p99_ttft_s == pytest.approx(0.5763, rel=0.12)


@pytest.mark.parametrize("workload", ["chat", "rag", "code"])
def test_the_closed_tier_is_near_the_numeric_one(workload: str) -> None:
    replica, load = world(**APART | {"workload": workload})
    limit = limit_rps(replica, load)
    for share, mean, tail in ((0.3, 0.02, 0.1), (0.6, 0.03, 0.15), (0.8, 0.05, 0.2)):
        numeric, closed = (
            predict(replica, load, rate_rps=share * limit, tier=tier) for tier in ("numeric", "closed")
        )
        assert closed.mean_ttft_s == pytest.approx(numeric.mean_ttft_s, rel=mean)
        assert closed.p99_ttft_s == pytest.approx(numeric.p99_ttft_s, rel=tail)
        assert closed.mean_tpot_s == pytest.approx(numeric.mean_tpot_s, rel=0.05)


@pytest.mark.parametrize(
    "more",
    [
        {"router": "power_of_two"},
        {"first_token": "decode_recompute"},
        {"link_shared": True, "decode_replicas": 2},
        {"layerwise_transfer": True},
        {"scheduler": "disaggregated(chunked_prefill=true)"},
    ],
)
def test_pools_without_a_model_are_refused(more: dict[str, object]) -> None:
    replica, workload = world(**APART | more)
    for tier in ("numeric", "closed"):
        with pytest.raises(ConfigError, match="there is no model of"):
            predict(replica, workload, rate_rps=1.0, tier=tier)


def test_a_fleet_of_pools_pays_for_all_instances() -> None:
    scenario = Scenario(model="llama-3.1-8b", prefill_replicas=1, decode_replicas=3)
    prices = {"a100": Price(hardware="a100", usd_per_hour=2.0)}
    choices = Choices(hardware=("a100",), tps=(2,), schedulers=("chunked", "disaggregated"))
    plain, pools = candidates_of(scenario, choices, prices)
    assert (plain.n_accelerators, plain.usd_per_hour) == (2, 4.0)
    assert (pools.n_accelerators, pools.usd_per_hour) == (8, 16.0)
