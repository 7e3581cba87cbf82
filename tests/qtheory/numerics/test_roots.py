"""Bracketed roots and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.roots import bracketed_root, quantile


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8), st.floats(1.0, 5.0))
def test_powers_are_undone(targets: list[float], power: float) -> None:
    wanted = np.array(targets)
    found = bracketed_root(lambda x, which: x**power - wanted[which], np.zeros(wanted.size), 200.0)
    assert found == pytest.approx(wanted ** (1 / power), rel=1e-11)


def test_a_root_at_a_bound_is_found() -> None:
    assert float(bracketed_root(lambda x, which: x, 0.0, 1.0)) == 0.0


def test_a_step_is_located() -> None:
    found = bracketed_root(lambda x, which: np.where(x < 0.3, -1.0, 1.0), 0.0, 1.0, rtol=1e-10)
    assert float(found) == pytest.approx(0.3, rel=1e-9)


def test_bounds_on_one_side_are_refused() -> None:
    with pytest.raises(ConfigError, match="same sign"):
        bracketed_root(lambda x, which: x + 1, 0.0, 1.0)


def test_too_few_steps_are_said() -> None:
    with pytest.raises(ConvergenceError, match="max_steps"):
        bracketed_root(lambda x, which: np.where(x < 0.3, -1.0, 1.0), 0.0, 1.0, max_steps=3)


@given(st.floats(0.001, 0.999), st.floats(1e-9, 1e9), st.floats(0.05, 1.0))
def test_quantiles_of_an_exponential_with_an_atom(q: float, scale: float, above: float) -> None:
    found = float(quantile(lambda t: above * np.exp(-t / scale), q, scale=scale * 3))
    assert found == pytest.approx(max(scale * np.log(above / (1 - q)), 0.0), rel=1e-9, abs=1e-12 * scale)


def test_quantiles_of_a_heavy_tail_are_bracketed_far_away() -> None:
    found = quantile(lambda t: (1 + t) ** -1.5, [0.5, 0.999999], scale=1.0)
    assert found == pytest.approx([0.5 ** (-1 / 1.5) - 1, 1e-6 ** (-1 / 1.5) - 1], rel=1e-9)


def test_a_tail_that_does_not_fall_is_said() -> None:
    with pytest.raises(ConvergenceError, match="does not fall"):
        quantile(lambda t: np.full(t.shape, 0.5), 0.9, scale=1.0)


@pytest.mark.parametrize("q", [0.0, 1.0, 1.5, -0.1])
def test_levels_outside_the_open_interval_are_refused(q: float) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        quantile(lambda t: np.exp(-t), q, scale=1.0)
