"""Whole prompts beside decodes, with memory kept for all of a request."""

from __future__ import annotations

import pytest

from qtheory.predict import limit_rps, predict
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}


def test_with_ample_memory_it_is_chunked_prefill_at_the_same_budget() -> None:
    replica, workload = world(**CHAT, scheduler="orca", kv_blocks=100_000)
    same, _ = world(**CHAT, scheduler="chunked", kv_blocks=100_000, budget_tokens=replica.budget_tokens)
    assert limit_rps(replica, workload) == pytest.approx(limit_rps(same, workload))
    points = [predict(one, workload, rate_rps=5.0, tier="closed") for one in (replica, same)]
    assert points[0].mean_ttft_s == pytest.approx(points[1].mean_ttft_s)


def test_memory_kept_from_the_start_lets_fewer_run() -> None:
    replica, workload = world(**CHAT, scheduler="orca", kv_blocks=2500)
    roomy, _ = world(**CHAT, scheduler="orca", kv_blocks=5000)
    low, high = limit_rps(replica, workload), limit_rps(roomy, workload)
    assert low < high
    assert predict(replica, workload, rate_rps=0.3 * low, tier="closed").binds == "KV memory"


def test_bursts_find_as_many_places_as_memory_is_kept_for() -> None:
    replica, workload = world(model="llama-3.1-8b", scheduler="orca", workload="rag", arrivals="gamma(cv=2)")
    simulated_knee_rps = 1.1546  # by `python -m validation.knees.doubt`, half-width 3 %
    found = predict(replica, workload, rate_rps=simulated_knee_rps)
    assert found.goodput_frac == pytest.approx(0.9, abs=0.03)
