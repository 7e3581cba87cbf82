"""Markovian arrival processes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.laws.phase_type import PhaseType

BURSTY = MarkovianArrivals(without=[[-2.0, 0.5], [0.1, -0.6]], with_arrival=[[1.3, 0.2], [0.1, 0.4]])


@given(st.floats(1e-6, 1e6))
def test_a_poisson_process_has_no_memory(rate: float) -> None:
    process = MarkovianArrivals.poisson(rate_rps=rate)
    assert process.rate_rps == pytest.approx(rate)
    assert process.scv == pytest.approx(1.0)
    assert process.correlation(1) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "law", [Erlang(k=3, mean=2.0), Hyperexponential(probs=[0.7, 0.3], means=[0.2, 5.0])], ids=str
)
def test_a_renewal_process_has_independent_intervals_of_its_law(law: Erlang | Hyperexponential) -> None:
    process = MarkovianArrivals.renewal(law)
    assert process.rate_rps == pytest.approx(1 / law.mean)
    assert process.scv == pytest.approx(law.scv)
    assert process.interval.sf(1.0) == pytest.approx(law.sf(1.0))
    assert [process.correlation(lag) for lag in (1, 2, 9)] == pytest.approx([0.0] * 3, abs=1e-12)


def test_samples_have_the_moments_and_the_correlation() -> None:
    runs = np.array([BURSTY.sample(np.random.default_rng(seed), 1200) for seed in range(60)])
    means = runs.mean(axis=1)
    assert abs(means.mean() - 1 / BURSTY.rate_rps) < 4 * means.std(ddof=1) / 60**0.5
    products = (runs[:, 1:] * runs[:, :-1]).mean(axis=1)
    wanted = BURSTY.correlation(1) * BURSTY.interval.var + 1 / BURSTY.rate_rps**2
    assert abs(products.mean() - wanted) < 4 * products.std(ddof=1) / 60**0.5


def test_phases_that_are_alike_are_poisson() -> None:
    process = MarkovianArrivals.modulated_poisson(rates_rps=[2.0, 2.0, 2.0], leave_per_s=[0.1, 3.0, 1.0])
    assert process.scv == pytest.approx(1.0)
    assert process.rate_rps == pytest.approx(2.0)


@given(st.floats(1e-6, 1e6))
def test_units_change_rates_and_nothing_else(c: float) -> None:
    scaled = BURSTY.scaled(c)
    assert scaled.rate_rps * c == pytest.approx(BURSTY.rate_rps, rel=1e-9)
    assert scaled.scv == pytest.approx(BURSTY.scv, rel=1e-8)
    assert scaled.correlation(2) == pytest.approx(BURSTY.correlation(2), rel=1e-7)


def test_what_is_no_process_is_named() -> None:
    with pytest.raises(ConfigError, match="row 0 must sum to 0"):
        MarkovianArrivals(without=[[-2.0]], with_arrival=[[1.0]])
    with pytest.raises(ConfigError, match="with_arrival"):
        MarkovianArrivals(without=[[-2.0]], with_arrival=[[0.0]])
    with pytest.raises(ConfigError, match="leave_per_s > 0"):
        MarkovianArrivals.modulated_poisson(rates_rps=[1.0, 2.0], leave_per_s=[0.0, 1.0])
    with pytest.raises(ConfigError, match="two or more phases"):
        MarkovianArrivals.modulated_poisson(rates_rps=[1.0], leave_per_s=[1.0])
    with pytest.raises(ConfigError, match="not made of exponential phases"):
        MarkovianArrivals.renewal(Constant(value=1.0))
    with pytest.raises(ConfigError, match="zero with a positive probability"):
        MarkovianArrivals.renewal(PhaseType(start=[0.5], rates=[[-1.0]]))
    with pytest.raises(ConfigError, match="lag"):
        BURSTY.correlation(0)
    assert MarkovianArrivals.renewal(Exponential(mean=2.0)) == MarkovianArrivals.poisson(rate_rps=0.5)
