"""Panels that get shorter towards 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.numerics.quadrature import graded_panels


@given(st.floats(-10, 0))
def test_a_peak_of_any_width_at_zero_is_caught(exponent: float) -> None:
    width = 10.0**exponent
    x, weight = graded_panels(2.0)
    assert float(weight @ (width / (x**2 + width**2))) == pytest.approx(np.arctan(2 / width), rel=1e-12)


@pytest.mark.parametrize("waves", [0, 1, 50, 400])
def test_waves_are_followed(waves: int) -> None:
    x, weight = graded_panels(np.pi, waves=waves)
    assert float(weight @ np.sin(waves * x) ** 2) == pytest.approx(np.pi / 2 if waves else 0.0, abs=1e-12)


def test_bad_ends_are_refused() -> None:
    with pytest.raises(ConfigError, match="high"):
        graded_panels(0.0)
