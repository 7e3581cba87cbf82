"""Times counted on a Poisson clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.clock import NO_TIME, ClockedLaw, count_alive, exponential_after, then_phase_type
from qtheory.numerics.phase import phase_tail

START = np.array([0.3, 0.5, 0.1])
RATES = np.array([[-2.0, 1.0, 0.2], [0.1, -1.0, 0.3], [0.0, 0.4, -0.5]])


def _clocked(clock: float) -> ClockedLaw:
    step = np.eye(3) + RATES / clock
    return count_alive(START, lambda x: x @ step, lambda x: float(x.sum()), clock_per_s=clock)


@pytest.mark.parametrize("clock", [2.0, 40.0])
def test_a_phase_type_time_is_the_same_on_any_clock(clock: float) -> None:
    law = _clocked(clock)
    t = np.array([0.0, 0.3, 2.0, 15.0, 60.0])
    assert law.sf(t) == pytest.approx(phase_tail(START, RATES, t), rel=1e-10)
    away = np.linalg.inv(-RATES)
    assert law.mean_s == pytest.approx(float(START @ away @ np.ones(3)))
    assert law.second_moment_s2 == pytest.approx(2 * float(START @ away @ away @ np.ones(3)))
    assert law.sf(law.ppf([0.5, 0.99, 1 - 1e-9])) == pytest.approx([0.5, 0.01, 1e-9], rel=1e-8)


def test_levels_below_the_atom_at_zero_are_zero() -> None:
    assert _clocked(2.0).ppf(0.05) == 0.0
    assert NO_TIME.ppf([0.5, 0.999]).tolist() == [0.0, 0.0]
    assert (NO_TIME.mean_s, NO_TIME.var_s2, float(NO_TIME.sf(0.0))) == (0.0, 0.0, 0.0)


def test_a_second_time_after_the_first_adds_mean_and_variance() -> None:
    first, q = _clocked(2.0), np.array([[-1.5, 1.5], [0.0, -1.5]])
    both = then_phase_type(first, np.array([1.0, 0.0]), q)
    assert both.mean_s == pytest.approx(first.mean_s + 2 / 1.5)
    assert both.var_s2 == pytest.approx(first.var_s2 + 2 / 1.5**2)
    block = np.block([[RATES, np.outer(-RATES.sum(axis=1), [1.0, 0.0])], [np.zeros((2, 3)), q]])
    start = np.concatenate([START, [1 - START.sum(), 0.0]])
    assert both.sf([0.5, 4.0, 30.0]) == pytest.approx(phase_tail(start, block, [0.5, 4.0, 30.0]), rel=1e-9)


def test_a_clock_slower_than_a_phase_is_refused() -> None:
    with pytest.raises(ConfigError, match="clock_per_s"):
        then_phase_type(_clocked(2.0), np.ones(1), np.array([[-9.0]]))


def test_a_tail_that_does_not_settle_is_said() -> None:
    with pytest.raises(ConvergenceError, match="max_jumps"):
        count_alive(np.ones(1), lambda x: x, lambda x: float(x[0]), clock_per_s=1.0, max_jumps=50)


@given(st.floats(0, 1), st.floats(0.1, 10), st.floats(0.1, 10))
def test_an_exponential_after_a_wait_is_their_convolution(p: float, a: float, mu: float) -> None:
    law = exponential_after(prob_wait=p, wait_rate=a, service_rate=mu)
    t = 1.3
    late = quad(lambda x: a * np.exp(-a * x) * np.exp(-mu * (t - x)), 0, t)[0]
    assert float(law.sf(t)) == pytest.approx(p * (np.exp(-a * t) + late) + (1 - p) * np.exp(-mu * t))
    assert law.mean_s == pytest.approx(quad(lambda x: float(law.sf(x)), 0, np.inf, limit=200)[0], rel=1e-6)
    assert law.var_s2 == pytest.approx(p * (2 - p) / a**2 + 1 / mu**2)
