"""One set of values of a transform gives the function at all times around."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.laws import Exponential, Gamma, Law, Lognormal, Uniform
from qtheory.numerics.inversion import Transform, invert_laplace
from qtheory.numerics.window import Window, window_around, window_of_few

RATIOS = np.array([Window.LOW, 0.7, 1.0, 1.1, Window.HIGH])


def _tail(law: Law) -> Transform:
    return lambda s: (1.0 - law.lst(s)) / s


@pytest.mark.parametrize(
    "law", [Lognormal(mean=1.0, cv=1.5), Gamma(mean=1.0, cv=2.0), Exponential(mean=1.0)], ids=str
)
@pytest.mark.parametrize("t", [0.3, 1.0, 6.0])
def test_smooth_tails_come_out_at_all_ratios(law: Law, t: float) -> None:
    assert window_around(_tail(law), t, tol=1e-8, worst=1e-6).at(RATIOS * t) == pytest.approx(
        law.sf(RATIOS * t), abs=2e-9
    )
    few = window_of_few(_tail(law), t).at(RATIOS[:-1] * t)
    assert few == pytest.approx(law.sf(RATIOS[:-1] * t), abs=1e-6)


def test_at_its_own_time_it_is_the_inversion() -> None:
    tail = _tail(Uniform(low=0.0, high=2.0))
    window = window_around(tail, 1.5, tol=1e-7, worst=1e-3, max_terms=192)
    one = invert_laplace(tail, 1.5, tol=1e-7, worst=1e-3, max_terms=192)
    assert window.at(1.5) == pytest.approx(float(one), abs=1e-10)


def test_beside_a_kink_the_estimate_is_that_of_the_error_to_a_factor_of_ten() -> None:
    law, times = Uniform(low=0.0, high=2.0), (1.9, 2.0, 2.1)
    window = window_around(_tail(law), 1.6, tol=1e-6, worst=1e-3)
    errors = [abs(float(window.at(t)) - law.sf(t)) for t in times]
    assert all(error < 10 * window.gap(t) for error, t in zip(errors, times, strict=True))
    assert max(errors) > 1e-5  # the kink is at 2


def test_a_jump_is_said_and_so_is_a_time_that_is_none() -> None:
    with pytest.raises(ConvergenceError, match="t=1: error about"):
        window_around(lambda s: (1.0 - np.exp(-s)) / s, 1.0, tol=1e-8, worst=1e-6)
    with pytest.raises(ConfigError, match="t"):
        window_of_few(_tail(Exponential(mean=1.0)), 0.0)
