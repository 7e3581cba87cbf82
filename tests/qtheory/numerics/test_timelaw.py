"""Laws of a time: transform, sum of exponentials, shift."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincc, gammaincinv

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.numerics.timelaw import ExponentialSum, ShiftedLaw, TransformLaw


def erlang(k: int, **more: object) -> TransformLaw:
    return TransformLaw(
        tail_lst=lambda s: (1 - (1 + s) ** -k) / s,
        mean_s=float(k),
        variance_s2=float(k),
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("k", [1, 2, 7, 60])
def test_tail_and_percentiles_of_an_erlang_law(k: int) -> None:
    t = np.array([0.1, 0.5, 1.0, 2.0, 4.0]) * k
    assert erlang(k).sf(t) == pytest.approx(gammaincc(k, t), abs=3e-10)
    q = np.array([0.01, 0.5, 0.9, 0.999])
    assert erlang(k).ppf(q) == pytest.approx(gammaincinv(k, q), rel=1e-6)


def test_a_known_decay_rate_keeps_the_deep_tail() -> None:
    deep = erlang(2, find_decay=lambda: 0.999)
    t = np.array([30.0, 100.0, 400.0])
    assert deep.sf(t) == pytest.approx(gammaincc(2, t), rel=1e-6)
    assert float(deep.ppf(1 - 1e-12)) == pytest.approx(float(gammaincinv(2, 1 - 1e-12)), rel=1e-4)


def test_percentiles_beyond_the_resolution_are_refused() -> None:
    with pytest.raises(ConvergenceError, match="lower percentile"):
        erlang(2).ppf(1 - 1e-12)


def test_a_known_part_takes_out_the_jump() -> None:
    # T is 1 with probability 1/2, else exponential
    law = TransformLaw(
        tail_lst=lambda s: 0.5 / (s + 1),
        mean_s=1.0,
        variance_s2=0.5,
        known_tail=lambda t: np.where(t < 1, 0.5, 0.0),
    )
    assert law.sf([0.999999, 1.0]) == pytest.approx([0.5 + 0.5 * np.exp(-1), 0.5 * np.exp(-1)], abs=1e-6)


def test_an_infinite_variance_is_said_with_its_cause() -> None:
    law = TransformLaw(tail_lst=lambda s: 1 / (s + 1), mean_s=1.0, cause="the third moment is infinite")
    with pytest.raises(ConfigError, match="third moment is infinite"):
        _ = law.var_s2


def test_a_transform_of_no_tail_is_refused() -> None:
    law = TransformLaw(tail_lst=lambda s: 3 / (s + 1), mean_s=1.0, variance_s2=1.0)
    with pytest.raises(ConvergenceError, match="came out as"):
        law.sf(0.1)


def test_before_zero_nothing_has_ended() -> None:
    assert erlang(2).sf([-1.0, 0.0]).tolist() == [1.0, 1.0]


@given(st.floats(0.05, 0.95), st.floats(0.1, 10.0))
def test_one_exponential_with_an_atom(weight: float, rate: float) -> None:
    law = ExponentialSum(weights=(weight,), rates_per_s=(rate,))
    assert law.mean_s == pytest.approx(weight / rate)
    assert law.var_s2 == pytest.approx(2 * weight / rate**2 - (weight / rate) ** 2)
    assert float(law.sf(law.ppf(0.99))) == pytest.approx(min(0.01, weight), rel=1e-12)


def test_complex_pairs_give_an_erlang_law() -> None:
    # M/E_2/1-like pairs: 1 - exp(-t)(cos t + sin t) has the rates 1 +- i
    law = ExponentialSum(weights=(0.5 - 0.5j, 0.5 + 0.5j), rates_per_s=(1 - 1j, 1 + 1j))
    t = np.array([0.0, 0.3, 1.0])
    assert law.sf(t) == pytest.approx(np.exp(-t) * (np.cos(t) + np.sin(t)))


@pytest.mark.parametrize(
    ("weights", "rates"), [((0.5,), (-1.0,)), ((0.5, 0.2), (1.0,)), ((1.5,), (1.0,)), ((-0.2,), (1.0,))]
)
def test_sums_that_are_no_law_are_refused(weights: tuple[float, ...], rates: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError):
        ExponentialSum(weights=weights, rates_per_s=rates)


def test_a_shift_moves_the_mean_and_every_percentile() -> None:
    base = ExponentialSum(weights=(1.0,), rates_per_s=(2.0,))
    law = ShiftedLaw(law=base, shift_s=3.0)
    assert law.mean_s == 3.5
    assert law.var_s2 == base.var_s2
    assert law.ppf([0.5, 0.9]) == pytest.approx(base.ppf([0.5, 0.9]) + 3.0)
    assert law.sf([2.9, 3.0, 4.0]) == pytest.approx([1.0, 1.0, np.exp(-2.0)])
    with pytest.raises(ConfigError, match="shift_s"):
        ShiftedLaw(law=base, shift_s=-1.0)
