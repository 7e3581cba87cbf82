"""What every law promises, checked on all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import (
    Constant,
    Discrete,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Lognormal,
    Mixture,
    Pareto,
    Rounded,
    Shifted,
    Truncated,
    Uniform,
    Weibull,
    parse_law,
)

SMOOTH: list[Law] = [
    Exponential(mean=0.5),
    Erlang(k=3, mean=2.0),
    Gamma(mean=3.0, cv=2.0),
    Gamma(mean=0.02, cv=0.25),
    Lognormal(mean=1000.0, cv=0.8),
    Lognormal(mean=2.0, cv=3.0),
    Uniform(low=0.0, high=1.0),
    Uniform(low=5.0, high=6.0),
    Weibull(shape=0.6, scale=2.0),
    Weibull(shape=3.0, scale=0.1),
    Hyperexponential(probs=[0.9, 0.1], means=[1.0, 12.0]),
    Pareto(alpha=1.5, low=100.0, high=10_000.0),
    Pareto(alpha=4.5, low=1.0),
    Truncated(law=Lognormal(mean=1000.0, cv=1.0), low=1.0, high=8192.0),
    Truncated(law=Weibull(shape=0.5, scale=1.0), high=3.0),
    Truncated(law=Exponential(mean=1.0), low=4.0),
    Shifted(law=Gamma(mean=1.0, cv=1.5), shift=0.25),
    Mixture(laws=[Erlang(k=4, mean=1.0), Lognormal(mean=9.0, cv=0.5)], weights=[0.7, 0.3]),
]
STEPPED: list[Law] = [
    Constant(value=192.0),
    Discrete(values=[4000, 100, 250], probs=[0.25, 0.5, 0.25]),
    Empirical(values=[3, 1, 4, 1, 5, 9, 2, 6]),
    Rounded(law=Lognormal(mean=20.0, cv=1.0), low=1, high=100),
    Mixture(laws=[Constant(value=1.0), Constant(value=7.0)], weights=[0.5, 0.5]),
    Truncated(law=Empirical(values=[1, 2, 3, 10]), low=2, high=3),
]
LAWS = SMOOTH + STEPPED
every_law = pytest.mark.parametrize("law", LAWS, ids=str)
smooth_law = pytest.mark.parametrize("law", SMOOTH, ids=str)


def expectation(law: Law, f: np.ufunc) -> float:
    """E[f(X)] from percentiles alone: Gauss-Legendre in u on panels that close in on both ends."""
    t, w = np.polynomial.legendre.leggauss(16)
    edges = np.concatenate(
        [0.5 ** np.arange(48, 1, -1), np.linspace(0.5, 1.5, 81) / 2, 1.0 - 0.5 ** np.arange(3, 49)]
    )
    half, centre = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    return float(np.sum(half * w * f(law.ppf(centre + half * t))))


@every_law
def test_the_text_of_a_law_reads_back_as_the_same_law(law):
    assert parse_law(str(law)) == law


@every_law
def test_both_tails_add_up_to_one_and_lie_in_order(law):
    x = np.linspace(*_most(law), 301)
    assert law.cdf(x) + law.sf(x) == pytest.approx(np.ones_like(x), abs=1e-13)
    assert np.all(np.diff(law.cdf(x)) >= 0)
    low, high = law.support
    assert law.cdf(low - 1e-6 * abs(low) - 1e-300) == 0.0
    assert law.cdf(high) == 1.0
    assert law.sf(high) == 0.0


@smooth_law
def test_percentiles_invert_the_distribution_function(law):
    q = np.array([1e-3, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-7])
    assert law.cdf(law.ppf(q)) == pytest.approx(q, rel=1e-7)
    assert law.sf(law.ppf(q))[-1] == pytest.approx(1e-7, rel=1e-6)


@every_law
def test_a_percentile_is_the_smallest_value_that_reaches_the_level(law):
    q = np.linspace(0.005, 0.995, 67)
    x = law.ppf(q)
    assert np.all(law.cdf(x * (1 + 1e-9)) >= q)
    assert np.all(law.cdf(x * (1 - 1e-9)) <= q)
    assert (law.ppf(0.0), law.ppf(1.0)) == law.support


@smooth_law
def test_moments_agree_with_percentiles(law):
    assert law.mean == pytest.approx(expectation(law, lambda x: x), rel=1e-6)
    assert law.moment(1) == pytest.approx(law.mean, rel=1e-12)
    assert law.moment(2) == pytest.approx(expectation(law, np.square), rel=2e-3 if law.scv > 2 else 1e-5)
    assert law.var == pytest.approx(law.moment(2) - law.mean**2, rel=1e-7)
    assert law.scv == pytest.approx(law.var / law.mean**2, rel=1e-9)
    assert law.moment(0) == 1.0


@every_law
def test_the_moments_of_neighbouring_intervals_add_up(law):
    low, middle, high = -1.0, law.mean, math.inf
    for k in range(4):
        parts = law.moment_between(k, low, middle) + law.moment_between(k, middle, high)
        assert parts == pytest.approx(law.moment(k), rel=1e-12)
    assert law.moment_between(0, low, middle) == pytest.approx(law.cdf(middle), rel=1e-12)


@smooth_law
def test_the_formula_for_part_of_a_moment_agrees_with_integration_by_parts(law):
    a, b = law.ppf(0.2), law.ppf(0.9)
    for k in (0, 1, 2):
        assert law.moment_between(k, a, b) == pytest.approx(Law._moment_between(law, k, a, b), rel=1e-8)


@every_law
def test_scaling_multiplies_values(law):
    other = law.scaled(3.0)
    assert other.mean == pytest.approx(3.0 * law.mean, rel=1e-12)
    assert other.var == pytest.approx(9.0 * law.var, rel=1e-9)
    assert other.lst(0.2 / law.mean) == pytest.approx(law.lst(0.6 / law.mean), rel=1e-10)


@every_law
def test_samples_have_the_mean_and_the_quartiles_of_the_law(law):
    n = 40_000
    x = law.sample(np.random.default_rng(5), n)
    assert x.shape == (n,)
    assert abs(x.mean() - law.mean) <= 4.0 * math.sqrt(law.var / n)
    for q in (0.1, 0.5, 0.9):
        p = law.cdf(law.ppf(q))
        assert abs(np.mean(x <= law.ppf(q) * (1 + 1e-12)) - p) <= 4.0 * math.sqrt(p * (1.0 - p) / n)


@every_law
def test_equal_seeds_give_equal_samples_and_one_draw_is_a_number(law):
    first, second = (law.sample(np.random.default_rng(2), (3, 4)) for _ in range(2))
    assert first.shape == (3, 4)
    assert first.tobytes() == second.tobytes()
    assert isinstance(law.sample(np.random.default_rng(2)), float)


@every_law
def test_the_transform_starts_at_one_with_the_slope_of_the_mean(law):
    assert law.lst(0.0) == pytest.approx(1.0, abs=1e-13)
    h = 1e-4 / law.mean
    expected = 1.0 - h * law.mean + h**2 * law.moment(2) / 2.0 - h**3 * law.moment(3) / 6.0
    assert law.lst(h) == pytest.approx(expected, abs=3e-13 + h**4 * law.moment(4))


@smooth_law
def test_the_transform_agrees_with_the_one_of_the_distribution_function(law):
    s = np.array([1e-3, 0.1, 1.0, 7.0, 0.5j, 3.0j, -3.0j, 2.0 + 40.0j, 200.0j]) / law.mean
    assert law.lst(s) == pytest.approx(Law._lst(law, s), abs=1e-11)


@every_law
def test_scalars_give_scalars_and_arrays_arrays(law):
    x = np.full((2, 3), law.mean)
    for method in (law.cdf, law.sf, law.lst):
        assert isinstance(method(law.mean), float)
        assert method(x).shape == (2, 3)
        assert method(x)[1, 2] == pytest.approx(method(law.mean), rel=1e-12)
    assert isinstance(law.ppf(0.5), float)
    assert isinstance(law.lst(1j), complex)
    assert law.lst(x * 1j).dtype == np.complex128


@every_law
def test_what_is_not_a_number_is_refused(law):
    for method in (law.cdf, law.sf, law.ppf, law.lst):
        with pytest.raises(ConfigError, match="nan"):
            method(math.nan)
    with pytest.raises(ConfigError, match=r"q: 1.5 is not in \[0, 1\]"):
        law.ppf(np.array([0.5, 1.5]))
    with pytest.raises(ConfigError, match="k: -1"):
        law.moment(-1)


def _most(law: Law) -> tuple[float, float]:
    """An interval that holds nearly all of the law, a little wider than its support where that is narrow."""
    low, high = law.support
    end = law.ppf(1.0 - 1e-9) if math.isinf(high) else high
    return max(0.0, 0.9 * low), 1.1 * end


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Constant(value=0.0), "value: 0.0 must be > 0"),
        (lambda: Exponential(mean=math.nan), "mean: nan"),
        (lambda: Gamma(mean=1.0, cv=-2.0), "cv: -2.0 must be > 0"),
        (lambda: Lognormal(mean=math.inf, cv=1.0), "mean: inf"),
        (lambda: Erlang(k=2.5, mean=1.0), "k: 2.5 must be a whole number"),
        (lambda: Uniform(low=2.0, high=1.0), "high: 1.0 must be > low=2.0"),
        (lambda: Weibull(shape=0.0, scale=1.0), "shape: 0.0 must be > 0"),
        (lambda: Pareto(alpha=1.0, low=2.0, high=2.0), "high: 2.0 must be > low=2.0"),
        (lambda: Hyperexponential(probs=[0.5, 0.6], means=[1.0, 2.0]), "probs: sum 1.1 must be 1"),
        (lambda: Hyperexponential(probs=[0.5, 0.5], means=[1.0, 0.0]), "means: 0.0 must be > 0"),
        (lambda: Discrete(values=[1, 2], probs=[1.0]), "probs: 1 given, 2 needed"),
        (lambda: Discrete(values=[-1.0], probs=[1.0]), "values: -1.0 must be >= 0"),
        (lambda: Empirical(values=[]), "values: empty"),
        (lambda: Empirical(values=[0, 0]), "values: all are 0"),
        (lambda: Truncated(law=Uniform(low=0, high=1), low=2), "holds 0 in"),
        (lambda: Truncated(law=Exponential(mean=1), low=3, high=1), "high: 1 must be > low=3"),
        (lambda: Truncated(law=7, low=3), "law: 7 is not a law"),
        (lambda: Mixture(laws=[Constant(value=1)], weights=[0.5, 0.5]), "weights: 2 given, 1 needed"),
        (lambda: Shifted(law=Constant(value=1), shift=-1.0), "shift: -1.0 must be >= 0"),
        (lambda: Rounded(law=Constant(value=1), low=5, high=4), "high: 4 must be a whole number >= 5"),
    ],
)
def test_a_parameter_out_of_range_is_named_with_its_value(build, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(").replace("[", r"\[")):
        build()
