"""A time known by its tail."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.numerics.taillaw import TailLaw


def test_a_jump_of_the_tail_is_its_percentile() -> None:
    law = TailLaw(
        tail=lambda t: np.where(t < 2.0, 1.0, 0.1 * np.exp(2.0 - t)), mean_s=2.1, variance_s2=0.19, scale_s=2
    )
    assert law.ppf([0.3, 0.9]) == pytest.approx([2.0, 2.0], rel=1e-9)
    assert law.ppf(0.99) == pytest.approx(2 + np.log(10))


def test_the_variance_is_computed_only_when_asked_for() -> None:
    asked: list[int] = []

    def variance() -> float:
        asked.append(1)
        return 4.0

    law = TailLaw(tail=lambda t: np.exp(-t / 2), mean_s=2.0, variance_s2=variance, scale_s=2.0)
    assert law.mean_s == 2.0
    assert not asked
    assert law.var_s2 == 4.0


def test_a_tail_above_one_is_an_error() -> None:
    law = TailLaw(tail=lambda t: 1.1 + 0 * t, mean_s=1.0, variance_s2=1.0, scale_s=1.0)
    with pytest.raises(ConvergenceError, match=r"P\(T > 3\)"):
        law.sf(3.0)
