"""Shedding: who stays of those that come in a step, and simulated systems where many do not.

``python -m tests.qtheory.predict.simulated shed`` makes the simulated numbers again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.predict import limit_rps, predict, sweep
from qtheory.predict._models import prepared
from qtheory.predict._numeric import steady_of
from qtheory.predict._shedding import alone_s, solved
from qtheory.predict._steps import Rule
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


def test_if_nobody_else_is_there_those_leave_whose_prompt_alone_takes_too_long() -> None:
    replica, workload = world(
        hardware="l4",
        model="llama-3.1-8b",
        workload="code",
        scheduler="slo",
        budget_tokens=8192,
        kv_blocks=100_000,
    )
    engine, deadline_s = prepared(replica, workload, "slo")[1].engine, workload.slo.ttft_s or 0.0
    late = float(engine.demand.prompt_probs[alone_s(engine) > deadline_s].sum())
    point = predict(replica, workload, rate_rps=0.001)
    assert 0.03 < late < 0.035
    assert point.shed_frac == pytest.approx(late, abs=5e-4)
    assert point.ttft_good_frac > 0.999


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


def test_where_memory_may_end_what_requests_hold_is_counted_and_else_their_number() -> None:
    """Of ``sched-sim validate agreement --grid full``, cells 146 and 124."""
    replica, workload = world(
        hardware="a100", model="llama-3.1-8b", workload="chat", scheduler="slo", kv_blocks=2739
    )
    point = predict(replica, workload, rate_rps=4.741)
    assert point.mean_ttft_s == pytest.approx(0.1819, rel=0.06)
    assert point.p99_ttft_s == pytest.approx(1.334, rel=0.12)
    assert 0.0005 < point.shed_frac < 0.002
    replica, workload = world(
        hardware="a100", model="qwen3-30b-a3b", workload="reasoning", scheduler="slo", kv_blocks=9740
    )
    point = predict(replica, workload, rate_rps=0.0534)
    assert point.mean_tpot_s == pytest.approx(0.01406, rel=0.06)
    assert point.p99_tpot_s == pytest.approx(0.0268, rel=0.12)


def test_as_many_stay_in_the_steps_as_arrivals_find() -> None:
    """Counted with each request for one decode step, and by the time that each state lasts."""
    replica, workload = world(
        hardware="l4", model="llama-3.1-8b", workload="rag", scheduler="slo", budget_tokens=512
    )
    _, setting = prepared(replica, workload, "slo")
    setting = setting.at_rate(1.2, limit_rps(replica, workload))
    backlog = solved(setting, Rule(mixed=True), setting.slo.ttft_s or 0.0)
    mesh, one = backlog.mesh, replace(setting.engine)
    assert mesh.thinned is not None
    one.__dict__["work"] = replace(setting.engine.work, given_prompt=np.ones_like(one.weighted_tokens))
    counted = replace(mesh.thinned, engine=one)
    come = (1 - mesh.idle) * counted.steps(mesh.seconds, mesh.left, mesh.then_running)
    come = come + mesh.idle * counted.first_batch[1].sum()
    requests_rps = (backlog.at_steps * come).sum() / (backlog.at_steps * mesh.stays_s).sum()
    share = steady_of(backlog).first.served
    assert share < 0.9
    assert share == pytest.approx(requests_rps / 1.2, abs=0.01)


@pytest.mark.parametrize("load", [1.0, 1.5])
def test_with_no_time_to_wait_for_a_place_it_is_a_loss_system(load: float) -> None:
    """Erlang's formula [Erlang 1917, Elektroteknikeren 13, 5-13], for 12 places and any law of outputs."""
    places, steps, step_s = 12, 100.0, 0.01
    replica, workload = world(
        prompt="constant(16)",
        output=f"exponential(mean={steps + 1:g})",
        step_time=f"linear(base_s={step_s},per_token_s=0)",
        max_seqs=places,
        scheduler="slo",
        ttft_slo_s=4 * step_s,
        kv_blocks=100_000,
    )
    lost = 1.0
    for k in range(1, places + 1):
        lost = load * places * lost / (k + load * places * lost)
    point = predict(replica, workload, rate_rps=load * places / (steps * step_s))
    assert point.shed_frac == pytest.approx(lost, abs=0.02)


def test_formulas_shed_more_at_higher_loads_and_less_with_more_time() -> None:
    shares = []
    for deadline_s in (0.5, 1.0, 2.0, 5.0, 20.0):
        replica, workload = world(
            hardware="a100", model="llama-3.1-8b", workload="chat", scheduler="slo", ttft_slo_s=deadline_s
        )
        limit = limit_rps(replica, workload)
        points = sweep(replica, workload, [load * limit for load in (0.5, 0.9, 1.1, 1.5, 3.0)], tier="closed")
        shares.append([point.shed_frac for point in points])
        waits = [point.mean_ttft_s for point in points[:3]]
        assert waits == sorted(waits)
        assert all(point.p99_ttft_s < 1.5 * deadline_s + 1 for point in points)
    assert np.all(np.diff(shares, axis=1) >= -1e-6)
    assert np.all(np.diff(shares, axis=0) <= 1e-6)


def test_with_all_the_time_below_the_limit_it_is_chunked_prefill() -> None:
    replica, workload = world(
        hardware="a100", model="llama-3.1-8b", workload="chat", scheduler="slo", ttft_slo_s=1000.0
    )
    rate_rps = 0.7 * limit_rps(replica, workload)
    patient, plain = (
        predict(replica, workload, rate_rps=rate_rps, scheduler=name) for name in ("slo", "chunked")
    )
    assert patient.shed_frac < 1e-3
    for name in ("mean_ttft_s", "p99_ttft_s", "mean_tpot_s"):
        assert getattr(patient, name) == pytest.approx(getattr(plain, name), rel=0.02)
