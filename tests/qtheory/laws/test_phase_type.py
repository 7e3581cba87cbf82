"""Phase-type and Coxian laws, and the largest of several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential, Law, Lognormal, Mixture, Uniform
from qtheory.laws.max_of import MaxOf
from qtheory.laws.phase_type import Coxian, PhaseType

SAME: list[Law] = [
    Exponential(mean=0.4),
    Erlang(k=5, mean=2.0),
    Hyperexponential(probs=[0.9, 0.1], means=[0.5, 6.0]),
    Mixture(laws=[Erlang(k=2, mean=1.0), Exponential(mean=3.0)], weights=[0.3, 0.7]),
]


@pytest.mark.parametrize("law", SAME, ids=str)
def test_laws_of_exponential_phases_are_the_same_in_phases(law: Law) -> None:
    phases = PhaseType.of(law)
    x = np.array([0.0, 0.1, 1.0, 7.0])
    assert phases.sf(x) == pytest.approx(law.sf(x), rel=1e-11, abs=1e-15)
    assert phases.cdf(1.0) == pytest.approx(law.cdf(1.0))
    assert phases.lst(np.array([0.3 + 2j, 5.0])) == pytest.approx(
        law.lst(np.array([0.3 + 2j, 5.0])), rel=1e-12
    )
    assert [phases.moment(k) for k in range(5)] == pytest.approx([law.moment(k) for k in range(5)], rel=1e-10)
    assert phases.moment_between(1, 0.2, 1.0) == pytest.approx(law.moment_between(1, 0.2, 1.0), rel=1e-6)
    assert phases.ppf(np.array([0.1, 0.99])) == pytest.approx(law.ppf(np.array([0.1, 0.99])), rel=1e-9)
    assert phases.scaled(3.0).mean == pytest.approx(3 * law.mean)
    assert PhaseType.of(phases) is phases


@settings(max_examples=20)
@given(
    st.lists(st.floats(0.1, 10), min_size=1, max_size=5), st.lists(st.floats(0, 1), min_size=4, max_size=4)
)
def test_coxian_stages_add_up(rates: list[float], on: list[float]) -> None:
    law = Coxian(phase_rates=rates, go_on=on[: len(rates) - 1])
    reached = np.cumprod([1.0, *on[: len(rates) - 1]])
    assert law.mean == pytest.approx(float(reached @ (1 / np.array(rates))), rel=1e-9)
    assert law.scaled(2.0).var == pytest.approx(4 * law.var, rel=1e-9)
    assert law.lst(1e-7) == pytest.approx(1 - 1e-7 * law.mean, abs=1e-11)


def test_draws_follow_the_law_with_its_atom_at_zero() -> None:
    law = PhaseType(start=[0.3, 0.4], rates=[[-2.0, 1.5], [0.5, -1.0]])
    drawn = law.sample(np.random.default_rng(5), (300, 200))
    assert drawn.shape == (300, 200)
    assert abs((drawn == 0).mean() - 0.3) < 4 * (0.21 / 60_000) ** 0.5
    assert abs(drawn.mean() - law.mean) < 4 * (law.var / 60_000) ** 0.5
    assert law.sf(0.0) == pytest.approx(0.7)
    assert law.lst(1e9) == pytest.approx(0.3, abs=1e-6)
    assert law.mean == pytest.approx(quad(lambda x: law.sf(float(x)), 0, 60)[0], rel=1e-6)


@pytest.mark.parametrize(
    "law", [Exponential(mean=2.0), Lognormal(mean=1.0, cv=1.5), Uniform(low=1.0, high=3.0)], ids=str
)
def test_the_largest_has_the_moments_of_its_tail(law: Law) -> None:
    largest = MaxOf(law=law, n=6, shift=0.5, factor=2.0)
    top = largest.ppf(1 - 1e-12)
    for k in (1, 2):
        tail = quad(lambda x, k=k: k * x ** (k - 1) * largest.sf(float(x)), 0, top, limit=400, epsrel=1e-9)[0]
        assert largest.moment(k) == pytest.approx(tail, rel=1e-5)
    s = np.array([0.2 + 0.5j])
    assert largest.lst(s)[0] == pytest.approx(
        1
        - s[0]
        * quad(lambda x: np.exp(-s[0] * x) * largest.sf(float(x)), 0, top, limit=400, complex_func=True)[0],
        rel=1e-6,
    )


def test_what_is_no_law_is_named() -> None:
    with pytest.raises(ConfigError, match="not made of exponential phases"):
        PhaseType.of(Constant(value=1.0))
    with pytest.raises(ConfigError, match="1 probabilities for 2 phases"):
        PhaseType(start=[1.0], rates=[[-1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(ConfigError, match="at most 1"):
        PhaseType(start=[1.5], rates=[[-1.0]])
    with pytest.raises(ConfigError, match="never ends"):
        PhaseType(start=[1.0, 0.0], rates=[[-1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ConfigError, match="go_on"):
        Coxian(phase_rates=[1.0, 2.0], go_on=[])
    with pytest.raises(ConfigError, match="phase_rates"):
        Coxian(phase_rates=[0.0], go_on=[])
    with pytest.raises(ConfigError, match="leave them out"):
        Coxian(start=[1.0], phase_rates=[1.0], go_on=[])
    with pytest.raises(ConfigError, match="must lie above"):
        PhaseType.of(Exponential(mean=1.0)).lst(-1.5)
