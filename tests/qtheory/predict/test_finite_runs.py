"""A limited time below the limit: how far it is from a steady state."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict import limit_rps, predict
from qtheory.predict._from_empty import grown_frac
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat"}


def test_a_queue_from_empty_grows_as_a_simulated_one() -> None:
    rate_rps, service_s, seconds, runs = 9.5, 0.1, 60.0, 800
    rng, means = np.random.default_rng(1), np.zeros(runs)
    for k in range(runs):
        gaps = rng.exponential(1 / rate_rps, 800)
        wait_s, now_s, waits = 0.0, 0.0, []
        for gap_s in gaps.tolist():  # Lindley
            wait_s, now_s = max(wait_s + service_s - gap_s, 0.0), now_s + gap_s
            if now_s > seconds:
                break
            waits.append(wait_s)
        means[k] = np.mean(waits)
    load = rate_rps * service_s
    steady_s = load * service_s / 2 / (1 - load)  # Pollaczek and Khinchine
    units = seconds * (1 / service_s - rate_rps) ** 2 / rate_rps
    error = 4 * means.std(ddof=1) / np.sqrt(runs) / steady_s
    assert abs(grown_frac(units) - means.mean() / steady_s) < error


def test_a_time_too_short_for_the_steady_state_below_the_limit_is_said() -> None:
    replica, workload = world(**CHAT, scheduler="chunked")
    limit = limit_rps(replica, workload)
    near = predict(replica, workload, rate_rps=0.97 * limit, duration_s=300.0, tier="closed")
    assert "are no time to reach it" in near.warnings[0]
    steady = predict(replica, workload, rate_rps=0.97 * limit, tier="closed")
    assert near.mean_ttft_s == steady.mean_ttft_s
    for load, seconds in ((0.5, 300.0), (0.97, 30_000.0)):
        point = predict(replica, workload, rate_rps=load * limit, duration_s=seconds, tier="closed")
        assert not any("to reach it" in text for text in point.warnings)


@pytest.mark.parametrize("tier", ["closed", "numeric"])
def test_every_number_of_a_prediction_is_a_plain_one(tier: str) -> None:
    replica, workload = world(**CHAT, scheduler="chunked")
    row = predict(replica, workload, rate_rps=4.0, tier=tier).row()
    assert {type(value) for value in row.values()} <= {float, str, list, type(None)}
