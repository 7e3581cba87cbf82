"""Transforms against values computed otherwise, and where they are undefined."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Exponential, Gamma, Lognormal, Mixture, Pareto, Truncated, Uniform, Weibull
from qtheory.laws._panels import Panels

# mpmath with 40 digits: trapezoidal rule along another contour than the one in use, step a quarter of it
LOGNORMAL = [
    (1, 0.1, 5, 0.0075903260231897512),
    (1, 0.8, 1e-6, 0.99999900000082),
    (1, 0.8, 1, 0.44806508048517354),
    (1, 0.8, 1e6, 5.4774866817522616e-59),
    (1000, 1, 0.01, 0.028247683872249434),
    (1, 5, 3, 0.50416712485629261),
    (1, 0.8, 3j, -0.1580382908463057 - 0.36909057715161063j),
    (1, 0.1, 20j, 0.10612885640687059 - 0.10482300227356505j),
    (1, 5, 0.05j, 0.99002220994038505 - 0.041675584705789965j),
    (2, 1, 0.5 + 40j, 0.00021357015218977717 + 3.2099311089987497e-5j),
    (1, 30, 1j, 0.87300278518327939 - 0.12949118550044899j),
]
WEIBULL = [
    (0.4, 1e-3, 0.99673444847481595),
    (0.4, 2, 0.46872935597298539),
    (0.4, 1e6, 0.0035248917317756146),
    (1.7, 5, 0.083577130596558118),
    (6, 3, 0.072218675304849108),
    (6, 1e5, 7.2e-28),
    (0.4, 3j, 0.39429591394679267 - 0.19298672795725334j),
    (1.7, 10j, -0.02866702319471585 - 0.015834351032809249j),
    (6, 0.5 + 5j, -0.044854101895060737 + 0.41372227534175206j),
    (2, 1 + 30j, -0.0022296426573144829 - 0.00014981711747552568j),
]


@pytest.mark.parametrize(("mean", "cv", "s", "value"), LOGNORMAL)
def test_the_lognormal_transform_has_twelve_digits(mean, cv, s, value):
    law = Lognormal(mean=mean, cv=cv)
    assert abs(law.lst(s) - value) <= 1e-12 * abs(value)
    assert law.lst(np.conj(complex(s))) == pytest.approx(np.conj(value), rel=1e-12)
    many = law.lst(np.full(20, complex(s)))  # by sums of powers
    assert np.abs(many - value).max() <= 1e-12 * abs(value)


@pytest.mark.parametrize("cv", [0.32, 0.5, 1.5, 4.0, 1e3, 1e6])
@pytest.mark.parametrize("angle", [0.0, 1.2, -math.pi / 2])
def test_both_ways_to_the_lognormal_transform_agree(cv, angle):
    law = Lognormal(mean=1.0, cv=cv)
    turn = complex(max(math.cos(angle), 0.0) if abs(angle) < 1.5 else 0.0, math.sin(angle))
    s = np.concatenate([[0j], np.geomspace(1e-9, 1e12, 60) * turn])
    one_by_one = np.array([law.lst(complex(x)) for x in s])
    big = np.abs(one_by_one) > 1e-60
    assert np.abs(law.lst(s) - one_by_one)[big] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(law.lst(s) / np.where(big, one_by_one, 1.0) - 1.0)[big] == pytest.approx(0.0, abs=3e-11)


@pytest.mark.parametrize(("shape", "s", "value"), WEIBULL)
def test_the_weibull_transform_has_twelve_digits(shape, s, value):
    assert abs(Weibull(shape=shape, scale=1.0).lst(s) - value) <= 1e-12 * abs(value)


def test_weibull_of_shape_one_is_exponential():
    s = np.array([0.0, 0.3, 50.0, 2.0j, 1.0 + 9.0j])
    assert Weibull(shape=1.0, scale=0.7).lst(s) == pytest.approx(Exponential(mean=0.7).lst(s), rel=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("s", [1e-6, 0.1, 20.0, 0.01j, 3.0 + 4.0j, 300.0j])
def test_the_pareto_transform_is_an_exponential_integral(alpha, s):
    whole = complex(alpha * mpmath.expint(alpha + 1, s))
    assert Pareto(alpha=alpha, low=1.0).lst(complex(s)) == pytest.approx(whole, rel=1e-12)
    r = 1000.0**-alpha
    bounded = (whole - r * complex(alpha * mpmath.expint(alpha + 1, s * 1000))) / (1 - r)
    assert Pareto(alpha=alpha, low=1.0, high=1000.0).lst(complex(s)) == pytest.approx(bounded, abs=1e-11)


def test_truncation_of_an_exponential_has_its_closed_form():
    a, b = 0.5, 3.0
    s = np.array([0.0, 0.2, 5.0, 60.0, 1.0j, 40.0j, 2000.0j])
    closed = (np.exp(-(1 + s) * a) - np.exp(-(1 + s) * b)) / (1 + s) / (math.exp(-a) - math.exp(-b))
    law = Truncated(law=Exponential(mean=1.0), low=a, high=b)
    assert law.lst(s) == pytest.approx(closed, abs=1e-12)


def test_atoms_inside_a_truncated_mixture_are_seen():
    from qtheory.laws import Constant

    whole = Mixture(laws=[Constant(value=1.0), Uniform(low=0.0, high=4.0)], weights=[0.5, 0.5])
    law = Truncated(law=whole, low=1.0, high=3.0)  # 2/3 at 1, else uniform on [1, 3]
    s = np.array([0.3, 2.0, 1.5j])
    closed = (2 * np.exp(-s) + Uniform(low=1.0, high=3.0).lst(s)) / 3
    assert law.lst(s) == pytest.approx(closed, abs=1e-10)


def test_panels_keep_small_answers_for_large_real_arguments():
    panels = Panels.of(Uniform(low=2.0, high=4.0).cdf, Uniform(low=2.0, high=4.0).sf, np.array([2.0, 4.0]))
    value = panels.transform(np.array([100.0 + 0j]))[0].real
    assert value == pytest.approx(math.exp(-200) * -math.expm1(-200) / 200, rel=1e-12)


@pytest.mark.parametrize(
    "law",
    [
        Lognormal(mean=1, cv=1),
        Weibull(shape=0.5, scale=1),
        Pareto(alpha=2, low=1),
        Truncated(law=Exponential(mean=1), low=1),
    ],
    ids=str,
)
def test_left_of_the_axis_a_numerical_transform_refuses(law):
    with pytest.raises(ConfigError, match=r"real part -0\.1 must be >= 0"):
        law.lst(-0.1 + 2j)


def test_closed_forms_continue_to_the_left():
    assert Gamma(mean=1.0, cv=0.5).lst(-1.0) == pytest.approx(0.75**-4, rel=1e-12)


def test_infinite_moments_are_said():
    with pytest.raises(ConfigError, match=r"pareto\(alpha=1.5, low=1\): moment 2 is infinite"):
        Pareto(alpha=1.5, low=1.0).moment(2)
    with pytest.raises(ConfigError, match="moment 1 is infinite"):
        _ = Pareto(alpha=1.0, low=1.0).mean
    with pytest.raises(ConfigError, match="infinite or too large"):
        Lognormal(mean=1e6, cv=1e3).moment(60)
    assert Pareto(alpha=1.5, low=1.0).moment_between(2, 0.0, 100.0) == pytest.approx(27.0)
