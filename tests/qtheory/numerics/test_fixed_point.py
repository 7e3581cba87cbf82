"""Fixed points of contractions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.fixed_point import fixed_point


@given(st.floats(0.01, 0.999999), st.floats(1e-6, 1e3))
def test_the_busy_period_of_mm1_is_found_at_any_load(load: float, damping: float) -> None:
    s = damping * np.array([1.0, 1.0 + 3.0j, 1.0 + 40.0j])
    found = fixed_point(lambda x, which: 1 / (1 + s[which] + load * (1 - x)), 1 / (1 + s))
    b = 1 + load + s
    wanted = 2 / (b + np.sqrt(b**2 - 4 * load))
    assert np.abs(found - wanted).max() < 1e-10


def test_real_maps_and_many_elements_at_once() -> None:
    a = np.linspace(0.1, 0.9, 9)
    found = fixed_point(lambda x, which: np.exp(-a[which] * x), np.ones(9))
    assert found == pytest.approx(np.exp(-a * found), abs=1e-13)


def test_a_map_without_a_fixed_point_is_said() -> None:
    with pytest.raises(ConvergenceError, match="max_steps"):
        fixed_point(lambda x, which: x + 1.0, np.zeros(1), max_steps=30)
