"""Shortest outputs first above the limit: who is served, and who waits for ever.

``python -m tests.qtheory.predict.simulated starved`` makes the simulated numbers again.
"""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import UnstableError
from qtheory.predict import limit_rps, predict, sweep
from qtheory.predict._models import prepared
from qtheory.predict._starved import served_part
from qtheory.predict._steps import Rule
from tests.qtheory.predict.worlds import world

SUMMARIZE = {"hardware": "h100", "model": "llama-3.1-8b", "workload": "summarize", "scheduler": "sjf"}


def test_those_that_are_served_take_all_there_is() -> None:
    replica, workload = world(**SUMMARIZE)
    _, setting = prepared(replica, workload, None)
    limit = limit_rps(replica, workload)
    shares = []
    for load in (1.01, 1.2, 1.5, 3.0):
        part = served_part(setting.engine, Rule(mixed=True), load * limit)
        demand = part.engine.demand
        assert part.share * load * limit == pytest.approx(part.limit.rate_rps, rel=1e-3)
        assert demand.decode_probs.sum() == pytest.approx(1.0)
        assert demand.mean_decode < setting.engine.demand.mean_decode
        assert demand.mean_prompt == pytest.approx(demand.decode_probs @ demand.prompt_given_decode)
        shares.append(part.share)
    assert shares == sorted(shares, reverse=True)
    assert shares[1] > 0.9  # the longest 5 % have a third of the decodes


def test_goodput_above_the_limit_is_that_of_three_runs_of_60_000_requests() -> None:
    replica, workload = world(**SUMMARIZE)
    assert limit_rps(replica, workload) < 11.5 / 1.2
    point = predict(replica, workload, rate_rps=11.5)
    assert point.goodput_frac == pytest.approx(0.910, abs=0.01)
    assert point.mean_tpot_s == pytest.approx(0.0593, rel=0.09)
    assert any("wait for ever" in text for text in point.warnings)


def test_both_sides_of_the_limit_are_asked_at_once_and_a_horizon_is_refused() -> None:
    replica, workload = world(**SUMMARIZE)
    limit = limit_rps(replica, workload)
    points = sweep(replica, workload, [load * limit for load in (0.5, 0.9, 1.1, 1.3, 2.0)])
    assert [point.shed_frac == 0 for point in points] == [True, True, False, False, False]
    good = np.array([point.goodput_frac for point in points])
    assert np.all(np.diff(good) <= 1e-9)
    assert good[3] > 0.8
    assert points[2] == predict(replica, workload, rate_rps=1.1 * limit, tier="closed")
    with pytest.raises(UnstableError, match="not below the limit"):
        predict(replica, workload, rate_rps=1.1 * limit, n_requests=1000)
