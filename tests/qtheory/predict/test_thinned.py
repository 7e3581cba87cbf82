"""Shedding: who stays of those that come in a step, and simulated systems where many do not.

``python -m tests.qtheory.predict.simulated shed`` makes the simulated numbers again.
"""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict import limit_rps, predict
from qtheory.predict._models import prepared
from qtheory.predict._thinned import Thinned
from qtheory.predict._turns import Turns
from tests.qtheory.predict.worlds import world

CELL = 100.0
GAMMA = {"arrivals": "gamma(cv=2)"}


def _thinned(deadline_s: float, *, burstiness: float = 1.0) -> Thinned:
    """Prompts of 2 cells that take 0.1 s alone, at 4 a second; each cell ahead takes 0.05 s."""
    arrivals = {"arrivals": f"gamma(cv={burstiness**0.5:g})"} if burstiness > 1 else {}
    replica, workload = world(prompt="constant(200)", output="constant(11)", **arrivals)
    _, setting = prepared(replica, workload, "slo")
    ends = np.zeros((2, 40))
    return Thinned(
        engine=setting.engine,
        rate_rps=4.0,
        cell=CELL,
        deadline_s=deadline_s,
        nodes=np.arange(2.0),
        turns=Turns(open_s=np.tile(0.05 * np.arange(40.0), (2, 1)), ends=ends, end_s=1.0),
        alone_s=np.array([0.1]),
        times_s=np.linspace(0.0, 0.5, 51),
    )


def _come(found: Thinned, seconds: float) -> tuple[np.ndarray, float]:
    rows, gained = found.shifted(np.array([seconds]), np.array([0]), np.array([0.5]))
    return rows[0], float(rows[0] @ gained[0])


def test_with_patience_for_ever_all_that_come_stay() -> None:
    rows, steps = _come(_thinned(1e3), 0.5)
    assert rows[0] == pytest.approx(np.exp(-2.0), rel=1e-4)
    assert rows[2] == pytest.approx(2 * np.exp(-2.0), rel=1e-4)
    assert rows @ np.arange(40) == pytest.approx(2 * 2.0, rel=1e-4)
    assert steps == pytest.approx(2.0 * 10, rel=1e-4)


def test_who_comes_early_in_a_long_step_or_behind_another_does_not_stay() -> None:
    found = _thinned(0.25)  # 0.15 s beside the own prompt: with nobody ahead, in the last 0.15 s
    rows, steps = _come(found, 0.5)
    none = np.exp(-4 * 0.15)
    assert rows[0] == pytest.approx(none, rel=0.01)
    one, more = 1 - np.exp(-0.4), 1 - np.exp(-0.2)  # of whom the second has 0.1 s ahead: the last 0.05 s
    behind = one * more + (1 - one) * (more - 0.2 * np.exp(-0.2))
    assert rows[4] == pytest.approx(behind, rel=0.01)
    assert rows[6:].sum() < 1e-3
    assert steps == pytest.approx(10 * (rows @ np.arange(40)) / 2, rel=1e-3)
    assert found.reached == 3


def test_of_a_batch_only_as_many_stay_as_can_be_in_time() -> None:
    whole, some = _thinned(1e3, burstiness=4.0), _thinned(0.25, burstiness=4.0)
    assert whole.engine.demand.mean_batch > 1.5
    mean = whole.engine.demand.mean_batch
    cells, steps = whole.first_batch
    assert steps.sum() == pytest.approx(10 * mean, rel=0.02)
    cells, steps = some.first_batch
    assert cells[6:].sum() == pytest.approx(0.0, abs=1e-9)
    assert steps.sum() == pytest.approx(10 * (1 + (1 - 1 / mean)), rel=1e-6)  # the second has 0.1 s ahead


@pytest.mark.parametrize("deadline_s", [0.3, 1.2, 3.0])
def test_as_many_wait_as_in_a_queue_with_deadlines(deadline_s: float) -> None:
    """M/M/12 + D, by the density of the virtual wait [Baccelli, Hebuterne 1981, On queues with impatient
    customers, Performance '81, 159-179]."""
    n, rate, ends = 12, 10.0, 9.0
    k = np.arange(1.0, 200.0)
    turns = Turns(open_s=np.zeros((1, 199)), ends=k[None, :], end_s=1 / ends)
    stay = turns.within(np.full((1, 199, 1), deadline_s), np.ones(1))[0, :, 0]
    below = np.cumprod(n * rate / ends / np.arange(1.0, n))
    places = np.concatenate(
        [[1.0], below, below[-1] * rate / ends * np.cumprod(np.append(1.0, rate / ends * stay))]
    )
    found = 1 - float((places[:n].sum() + (places[n:-1] * stay).sum()) / places.sum())
    late = below[-1] * rate * np.exp((rate - ends) * deadline_s) / ends
    waiting = below[-1] * rate * np.expm1((rate - ends) * deadline_s) / (rate - ends)
    assert found == pytest.approx(late / (1 + below.sum() + waiting + late), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "rate_rps", "shed", "mean_s", "p99_s"),
    [
        ({"hardware": "l4", "workload": "rag", "budget_tokens": 512}, 1.2, 0.238, 1.470, 2.267),
        ({"hardware": "a100", "workload": "code", "budget_tokens": 512, **GAMMA}, 6.0, 0.110, 0.509, 1.031),
    ],
)
def test_shares_and_waits_are_those_of_four_runs_of_20_000_requests(
    changes: dict[str, object], rate_rps: float, shed: float, mean_s: float, p99_s: float
) -> None:
    replica, workload = world(model="llama-3.1-8b", scheduler="slo", kv_blocks=100_000, **changes)
    assert rate_rps > 0.6 * limit_rps(replica, workload)
    point = predict(replica, workload, rate_rps=rate_rps)
    assert point.shed_frac == pytest.approx(shed, abs=0.02)
    assert point.mean_ttft_s == pytest.approx(mean_s, rel=0.05)
    assert point.p99_ttft_s == pytest.approx(p99_s, rel=0.03)


def test_where_all_places_are_taken_those_in_front_keep_the_others_waiting() -> None:
    replica, workload = world(
        hardware="h100", model="qwen3-30b-a3b", workload="chat", scheduler="slo", kv_blocks=100_000
    )
    assert limit_rps(replica, workload) < 22.0 / 1.2
    point = predict(replica, workload, rate_rps=22.0)
    assert point.shed_frac == pytest.approx(0.202, abs=0.02)  # of four runs of 20,000 requests
    assert point.mean_ttft_s == pytest.approx(1.801, rel=0.06)
    assert point.goodput_frac == pytest.approx(0.768, abs=0.02)
    assert point.goodput_frac <= 1 - point.shed_frac


def test_long_outputs_seldom_free_a_place_in_time() -> None:
    """Of ``sched-sim validate agreement --grid full --only 109``: 1.2 places get free within the limit."""
    replica, workload = world(
        hardware="h100",
        model="qwen3-30b-a3b",
        workload="reasoning",
        scheduler="slo",
        kv_blocks=200_000,
        **GAMMA,
    )
    point = predict(replica, workload, rate_rps=0.640)
    assert point.shed_frac == pytest.approx(0.1285, abs=0.02)
    assert point.p99_ttft_s == pytest.approx(1.85, rel=0.06)
    assert point.goodput_frac == pytest.approx(0.866, abs=0.02)
