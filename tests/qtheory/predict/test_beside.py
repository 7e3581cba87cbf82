"""What runs beside a request: cumulants of shot noise, and what they grow to as steps last longer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammainc

from qtheory.predict import predict
from qtheory.predict._beside import Beside, skewed
from qtheory.predict._mates import Mates, lags_of
from qtheory.predict._meeting import together_frac
from qtheory.predict.demand import Demand, demand_of
from qtheory.predict.inputs import engine_of
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import GammaArrivals, MmppArrivals, PoissonArrivals
from qtheory.system.workload.from_scenario import workload_of


def _demand(steps: np.ndarray, probs: np.ndarray, prompt: float = 100.0) -> Demand:
    return Demand(
        prompt_tokens=np.array([prompt]),
        prompt_probs=np.ones(1),
        decode_steps=steps,
        decode_probs=probs,
        prompt_decode=prompt * float(steps @ probs),
    )


EQUAL = _demand(np.array([500.0]), np.ones(1))
GEOMETRIC = _demand(np.arange(1.0, 8001.0), 0.99 ** np.arange(8000.0) * 0.01 / (1 - 0.99**8000))
TWO = _demand(np.array([100.0, 2000.0]), np.array([0.7, 0.3]))


def test_equal_requests_seen_for_as_long_as_they_stay_have_triangles_as_pulses() -> None:
    (load, number) = Beside(demand=EQUAL, by_tokens=0.0).cumulants(np.array([1e-6, 500.0]))
    assert number == pytest.approx(np.array([[1.0, 2 / 3], [1.0, 1 / 2]]), rel=1e-4)
    assert load == pytest.approx(number)


def test_at_a_moment_cumulants_are_moments_of_what_the_running_ones_hold() -> None:
    load, number = Beside(demand=TWO, by_tokens=0.6).cumulants(np.array([1e-6]))
    ages = np.concatenate([np.arange(100.0), np.arange(2000.0)]) + 0.5
    weights = np.repeat([0.7, 0.3], [100, 2000]) / (0.7 * 100 + 0.3 * 2000)
    held = 0.4 + 0.6 * (100 + ages) / TWO.mean_context
    assert number[:, 0] == pytest.approx(np.ones(2), rel=1e-4)
    assert load[:, 0] == pytest.approx(np.array([held**2 @ weights, held**3 @ weights]), rel=2e-3)


def test_a_long_stay_sees_works_of_whole_requests() -> None:
    load, _ = Beside(demand=TWO, by_tokens=1.0).cumulants(np.array([1e6]))
    works = (100 + TWO.decode_steps / 2) * TWO.decode_steps / TWO.mean_context
    expected = [float(works**k @ TWO.decode_probs) / TWO.mean_decode / 1e6 ** (k - 1) for k in (2, 3)]
    assert load[:, 0] == pytest.approx(np.array(expected), rel=6e-3)


@pytest.mark.parametrize("demand", [EQUAL, GEOMETRIC, TWO], ids=["equal", "geometric", "two"])
def test_with_equal_loads_it_is_processor_sharing_whatever_the_outputs(demand: Demand) -> None:
    echo = Beside(demand=demand, by_tokens=0.0).echo(0.4)
    assert echo.together == pytest.approx(1 / 0.6, rel=0.01)
    assert echo.load_var == pytest.approx(1 / 0.6, rel=0.01)


def test_without_growth_there_is_no_echo() -> None:
    assert Beside(demand=TWO, by_tokens=0.7).echo(0.0).load_var == pytest.approx(1.0)


def test_levels_of_skewed_laws_have_their_moments() -> None:
    levels = (np.arange(4000) + 0.5) / 4000
    second, third = np.array([4.0, 4.0, 1.0]), np.array([6.0, -6.0, 0.0])
    found = skewed(levels, second, third)
    assert found.mean(axis=1) == pytest.approx(np.zeros(3), abs=2e-3)
    assert (found**2).mean(axis=1) == pytest.approx(second, rel=0.01)
    assert (found**3).mean(axis=1) == pytest.approx(third, rel=0.03, abs=0.03)


@pytest.mark.parametrize("demand", [GEOMETRIC, TWO], ids=["geometric", "two"])
def test_mates_that_come_at_once_are_beside_each_other_as_long_as_both_run(demand: Demand) -> None:
    mates = Mates(demand=demand, by_tokens=0.0, apart=np.zeros(1), weights=np.ones(1))
    assert mates.together == pytest.approx(together_frac(demand), rel=0.02)
    assert mates.numbers == mates.together
    assert mates.kept(np.array([1e-3]))[0] == pytest.approx(mates.numbers)


@pytest.mark.parametrize("lag", [0.0, 300.0])
def test_over_the_stays_of_all_mates_hold_their_mean(lag: float) -> None:
    mates = Mates(demand=TWO, by_tokens=0.8, apart=np.array([lag]), weights=np.ones(1))
    beside = mates.beside(TWO.decode_steps)
    mean = float(beside * TWO.decode_steps @ TWO.decode_probs) / TWO.mean_decode
    assert mean == pytest.approx(mates.together, rel=0.01)


def test_who_has_just_come_holds_less_than_its_place() -> None:
    mates = Mates(demand=TWO, by_tokens=1.0, apart=np.zeros(1), weights=np.ones(1))
    assert mates.beside(np.array([1.0]))[0] < 0.25 < 1 < mates.beside(np.array([2000.0]))[0] / 0.3


def test_bursts_of_phases_last_as_long_as_a_phase() -> None:
    lags, weights = lags_of(MmppArrivals(rates=(1.0, 9.0), mean_s=(1.0, 1.0)), 20.0, 2.0, 100.0)
    assert float(weights @ lags) == pytest.approx(0.5, rel=0.1)  # both phases end: at 2 a second


def test_gaps_in_a_burst_are_those_after_which_more_come_than_at_random() -> None:
    at_once, one = lags_of(PoissonArrivals(), 1.0, 2.0, 10.0)
    assert (at_once.tolist(), one.tolist()) == ([0.0], [1.0])
    lags, weights = lags_of(GammaArrivals(cv=2.0), 4.0, 2.0, 10.0)
    n = np.arange(1, 400)
    within, whole = (float(gammainc(n / 4, 2 * t / 4).sum()) - 2 * t for t in (0.1, 10.0))
    assert float(weights[lags < 0.1].sum()) == pytest.approx(within / whole, abs=0.03)


def test_beside_few_requests_no_step_is_shorter_than_that_of_one() -> None:
    scenario = Scenario(
        hardware="rtx3050", model="llama-3.2-1b", scheduler="fcfs", workload="rag", kv_blocks=65_024
    )
    replica, workload = replica_of(scenario), workload_of(scenario)
    found = predict(replica, workload, rate_rps=0.92955)
    assert found.p50_tpot_s > engine_of(replica, demand_of(workload)).decode_s(1.0)
    assert found.p50_e2e_s > found.p50_ttft_s
