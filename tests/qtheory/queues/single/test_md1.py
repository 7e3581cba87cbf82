"""M/D/1 against Erlang's series in many digits, its own limits and its transform."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant
from qtheory.numerics.inversion import invert_laplace
from qtheory.queues.single import MD1, DeterministicWait, Workload


def erlang_series(load: float, t: float) -> float:
    with mpmath.workdps(220):
        rho, x = mpmath.mpf(load), mpmath.mpf(t)
        terms = (
            (-rho * (x - k)) ** k / mpmath.factorial(k) * mpmath.exp(rho * (x - k)) for k in range(int(t) + 1)
        )
        return float(1 - (1 - rho) * mpmath.fsum(terms))


@pytest.mark.parametrize("load", [0.01, 0.3, 0.8, 0.97])
@pytest.mark.parametrize("t", [0.0, 0.4, 1.0, 2.5, 17.3, 60.9])
def test_the_tail_has_all_digits(load: float, t: float) -> None:
    wanted = erlang_series(load, t)
    if wanted > 1e-200:
        assert float(DeterministicWait(load=load, service_s=1.0).sf(t)) == pytest.approx(wanted, rel=2e-12)


@pytest.mark.parametrize("load", [0.2, 0.6, 0.95])
def test_the_sum_agrees_with_the_transform(load: float) -> None:
    work = Workload(rate_rps=load, service=Constant(value=1.0))
    t = np.array([0.25, 1.6, 3.7, 9.2])
    assert DeterministicWait(load=load, service_s=1.0).sf(t) == pytest.approx(
        invert_laplace(work.tail_lst, t, worst=1e-4), abs=2e-6
    )


@settings(max_examples=25)
@given(st.floats(0.01, 0.999), st.floats(1e-9, 1e9))
def test_seconds_or_milliseconds_give_the_same_physics(load: float, scale: float) -> None:
    one, other = (
        MD1(rate_rps=load, service_s=1.0).solve(),
        MD1(rate_rps=load / scale, service_s=scale).solve(),
    )
    assert other.mean_wait_s == pytest.approx(scale * one.mean_wait_s)
    assert float(other.response.ppf(0.99)) == pytest.approx(scale * float(one.response.ppf(0.99)), rel=1e-9)


def test_in_heavy_traffic_the_wait_becomes_exponential() -> None:
    answer = MD1(rate_rps=1 - 1e-6, service_s=1.0).solve()
    assert float(answer.wait.ppf(0.99)) == pytest.approx(answer.wait.mean_s * np.log(100), rel=1e-6)


@given(st.floats(0.02, 0.9))
def test_the_number_present_sums_to_one_and_to_its_moments(load: float) -> None:
    answer = MD1(rate_rps=load, service_s=1.0).solve()
    n = np.arange(400)
    pmf = np.array([answer.number_pmf(int(k)) for k in n])
    assert pmf.sum() == pytest.approx(1.0, rel=1e-9)
    assert pmf @ n == pytest.approx(answer.mean_number, rel=1e-7)
    assert pmf @ n**2 - (pmf @ n) ** 2 == pytest.approx(answer.var_number, rel=1e-6)
    assert pmf.min() >= 0


@settings(max_examples=25)
@given(st.floats(0.05, 0.9), st.floats(0.5, 0.999))
def test_more_load_waits_longer(load: float, q: float) -> None:
    low, high = (MD1(rate_rps=r, service_s=1.0).solve() for r in (load, load * 1.05))
    assert high.mean_wait_s > low.mean_wait_s
    assert float(high.wait.ppf(q)) >= float(low.wait.ppf(q))


def test_mean_and_variance_are_those_of_the_tail() -> None:
    wait = DeterministicWait(load=0.7, service_s=2.0)
    node, weight = np.polynomial.legendre.leggauss(12)
    edges = np.arange(0, 400, 0.5)
    t = (edges[:, None] + 0.25 * (1 + node)).ravel()
    w = np.tile(0.25 * weight, edges.size)
    assert w @ wait.sf(t) == pytest.approx(wait.mean_s, rel=1e-10)
    assert 2 * w @ (t * wait.sf(t)) - wait.mean_s**2 == pytest.approx(wait.var_s2, rel=1e-9)


def test_overload_names_the_limit() -> None:
    with pytest.raises(UnstableError, match=r"rate_rps=12 is not below 10.*lower the rate"):
        MD1(rate_rps=12.0, service_s=0.1).solve()


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), "1", True])
def test_bad_values_are_refused(bad: object) -> None:
    with pytest.raises(ConfigError, match="service_s"):
        MD1(rate_rps=1.0, service_s=bad)  # type: ignore[arg-type]
