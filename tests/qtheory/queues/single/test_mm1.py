"""M/M/1: closed forms, scaling, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.single import MM1


@given(st.floats(0.001, 0.999), st.floats(1e-9, 1e9))
def test_seconds_or_milliseconds_give_the_same_physics(load: float, rate: float) -> None:
    one = MM1(rate_rps=load, service_rate_rps=1.0).solve()
    other = MM1(rate_rps=load * rate, service_rate_rps=rate).solve()
    assert other.mean_response_s * rate == pytest.approx(one.mean_response_s)
    assert other.response.ppf(0.99) * rate == pytest.approx(one.response.ppf(0.99))
    assert other.mean_number == pytest.approx(one.mean_number)


@given(st.floats(0.01, 0.95))
def test_the_number_present_sums_to_one_and_to_its_moments(load: float) -> None:
    answer = MM1(rate_rps=load, service_rate_rps=1.0).solve()
    n = np.arange(1500)
    pmf = np.array([answer.number_pmf(int(k)) for k in n])
    assert pmf.sum() == pytest.approx(1.0)
    assert pmf @ n == pytest.approx(answer.mean_number)
    assert pmf @ n**2 - answer.mean_number**2 == pytest.approx(answer.var_number)
    assert answer.number_pmf(-1) == 0.0


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_percentiles_undo_the_tail(load: float, q: float) -> None:
    answer = MM1(rate_rps=load, service_rate_rps=1.0).solve()
    assert float(answer.response.sf(answer.response.ppf(q))) == pytest.approx(1 - q)
    assert float(answer.wait.ppf(q)) == (
        0.0 if load <= 1 - q else pytest.approx(np.log(load / (1 - q)) / (1 - load))
    )


def test_the_edge_of_stability_is_exact() -> None:
    assert MM1(rate_rps=1 - 2.0**-20, service_rate_rps=1.0).solve().mean_response_s == 2.0**20


def test_overload_names_the_way_out() -> None:
    with pytest.raises(UnstableError, match=r"rate_rps=2 is not below 1.*raise service_rate_rps"):
        MM1(rate_rps=2.0, service_rate_rps=1.0).solve()


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), "fast"])
def test_bad_rates_are_refused(bad: object) -> None:
    with pytest.raises(ConfigError, match="rate_rps"):
        MM1(rate_rps=bad, service_rate_rps=1.0)  # type: ignore[arg-type]
