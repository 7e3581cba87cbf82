"""Transform inversion against functions that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfc, gammaln

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.inversion import invert_laplace, invert_laplace_2d, invert_pgf

SMOOTH = {
    "exponential": (lambda s: 1 / (s + 1), lambda t: np.exp(-t)),
    "erlang tail": (lambda s: (1 - (1 + s) ** -3) / s, lambda t: np.exp(-t) * (1 + t + t**2 / 2)),
    "square root": (lambda s: s**-0.5, lambda t: 1 / np.sqrt(np.pi * t)),
    "erfc": (lambda s: np.exp(-np.sqrt(s)) / s, lambda t: erfc(1 / (2 * np.sqrt(t)))),
    "cosine": (lambda s: s / (s**2 + 1), np.cos),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("t", [0.01, 0.7, 3.0, 20.0])
def test_smooth_functions_come_back_to_ten_digits(name: str, t: float) -> None:
    transform, function = SMOOTH[name]
    scale = max(1.0, abs(float(function(t))))
    assert abs(float(invert_laplace(transform, t)) - function(t)) < 3e-10 * scale


@given(st.floats(1e-9, 1e9), st.floats(0.05, 8.0))
def test_the_unit_of_time_does_not_matter(scale: float, t: float) -> None:
    found = invert_laplace(lambda s: scale / (1 + scale * s), t * scale)
    assert float(found) == pytest.approx(np.exp(-t), abs=4e-10)


def test_a_kink_is_met_by_more_terms() -> None:
    # the tail of a uniform law: a corner at 1
    found = invert_laplace(lambda s: (s - 1 + np.exp(-s)) / s**2, [0.5, 0.99, 1.5])
    assert found == pytest.approx([0.5, 0.01, 0.0], abs=1e-7)


def test_a_jump_at_the_point_itself_is_refused() -> None:
    with pytest.raises(ConvergenceError, match="away from a jump"):
        invert_laplace(lambda s: np.exp(-s) / s, 1.0)


@pytest.mark.parametrize("t", [0.0, -1.0, np.inf])
def test_times_must_be_positive_and_finite(t: float) -> None:
    with pytest.raises(ConfigError, match="must be > 0"):
        invert_laplace(lambda s: 1 / s, t)


def test_shapes_are_kept() -> None:
    assert invert_laplace(lambda s: 1 / (s + 1), np.ones((2, 3))).shape == (2, 3)
    assert invert_laplace(lambda s: 1 / (s + 1), 1.0).shape == ()


@pytest.mark.parametrize("n_max", [0, 1, 30, 300])
def test_a_negative_binomial_comes_back_from_its_generating_function(n_max: int) -> None:
    p, size, n = 0.35, 2.5, np.arange(n_max + 1)
    wanted = np.exp(gammaln(size + n) - gammaln(size) - gammaln(n + 1) + n * np.log(1 - p)) * p**size
    found = invert_pgf(lambda z: (p / (1 - (1 - p) * z)) ** size, n_max)
    assert found == pytest.approx(wanted, abs=1e-12)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ConfigError, match="n_max"):
        invert_pgf(lambda z: z, -1)


def test_two_variables_are_inverted_one_inside_the_other() -> None:
    def transform(s: np.ndarray, z: np.ndarray) -> np.ndarray:
        return 1 / ((s + 1) * z) * 1 / (z + s + 2)

    # inverse in x of 1 / (z (z + a)) is (1 - exp(-a x)) / a with a = s + 2, then shifts in t
    t, x = 1.3, 0.8
    # 1/((s+1)(s+2)) - exp(-x (s+2)) / ((s+1)(s+2))
    direct = np.exp(-t) - np.exp(-2 * t)
    shifted = np.exp(-2 * x) * (np.exp(-(t - x)) - np.exp(-2 * (t - x))) if t > x else 0.0
    assert invert_laplace_2d(transform, t, x) == pytest.approx(direct - shifted, abs=1e-4)
