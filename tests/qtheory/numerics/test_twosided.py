"""A fixed rule inverts transforms of complex functions."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.numerics.twosided import two_sided_rule


@pytest.mark.parametrize("rate", [1.0, 1.0 + 2.0j, 0.1 - 0.5j])
@pytest.mark.parametrize("x", [0.1, 1.0, 7.0])
def test_complex_exponentials_come_back(rate: complex, x: float) -> None:
    ratio = np.array([0.35, 0.7, 1.0])
    node, weight = two_sided_rule(ratio)
    found = (1.0 / (node / x + rate)) @ weight / x
    assert np.abs(found - np.exp(-rate * x * ratio)).max() < 1e-7
