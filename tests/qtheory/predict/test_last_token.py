"""Time to the last token: after the first one a request sees as many gaps as it has decodes."""

from __future__ import annotations

import pytest

from qtheory.predict import limit_rps, predict, sweep
from qtheory.predict.demand import demand_of
from tests.qtheory.predict.worlds import world

CODE = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "code"}


@pytest.mark.parametrize(
    "changes",
    [
        {"scheduler": "fcfs"},
        {"scheduler": "chunked"},
        {"scheduler": "chunked", "arrivals": "gamma(cv=2)"},
        {"scheduler": "sjf", "kv_blocks": 900},
    ],
    ids=str,
)
def test_formulas_take_as_long_for_the_decodes_as_their_mean_gaps(changes: dict[str, object]) -> None:
    replica, workload = world(**CODE | changes)
    limit, decodes = limit_rps(replica, workload), demand_of(workload).mean_decode
    points = sweep(replica, workload, [share * limit for share in (0.3, 0.8, 0.9, 0.95)], tier="closed")
    for point in points:
        assert point.mean_itl_s is not None
        assert point.mean_e2e_s - point.mean_ttft_s == pytest.approx(decodes * point.mean_itl_s, rel=1e-6)
    means = [point.mean_e2e_s for point in points]
    assert means == sorted(means)


def test_a_queue_of_a_burst_stalls_a_token_no_longer_than_its_full_step() -> None:
    replica, workload = world(**CODE, scheduler="chunked", arrivals="gamma(cv=2)")
    point = predict(replica, workload, rate_rps=0.9 * limit_rps(replica, workload), tier="closed")
    assert point.mean_itl_s is not None
    assert point.mean_itl_s < 0.138  # of 2048 tokens, with the decodes beside the prompts
    assert point.mean_ttft_s == pytest.approx(3.15, rel=0.15)  # of the chain


def test_the_chain_takes_as_long_for_the_decodes_as_its_mean_gaps() -> None:
    replica, workload = world(**CODE, scheduler="fcfs", max_seqs=16)
    point = predict(replica, workload, rate_rps=0.3 * limit_rps(replica, workload))
    decodes = demand_of(workload).mean_decode
    assert point.mean_itl_s is not None
    assert point.mean_e2e_s - point.mean_ttft_s == pytest.approx(decodes * point.mean_itl_s, rel=0.005)
