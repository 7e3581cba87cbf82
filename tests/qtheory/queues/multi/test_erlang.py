"""Erlang's formulas, M/M/c and M/M/c/K."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Exponential, Gamma
from qtheory.queues.multi import MGInf, MMc, MMcK, erlang_b, erlang_c
from qtheory.queues.single import MM1


def _recursion(n_servers: int, load: float) -> float:
    lost = 1.0
    for k in range(1, n_servers + 1):
        lost = load * lost / (k + load * lost)
    return lost


@given(st.integers(0, 3000), st.floats(1e-3, 5000))
def test_erlang_b_is_the_recursion(n_servers: int, load: float) -> None:
    assert erlang_b(n_servers=n_servers, load=load) == pytest.approx(_recursion(n_servers, load), rel=1e-11)


def test_a_million_servers_lose_what_the_recursion_says() -> None:
    lost = [erlang_b(n_servers=10**6, load=load) for load in (9.99e5, 1e6, 1.001e6, 3e6)]
    assert lost == pytest.approx([_recursion(10**6, load) for load in (9.99e5, 1e6, 1.001e6, 3e6)], rel=1e-10)


@given(st.integers(1, 500), st.floats(1e-3, 0.999))
def test_erlang_c_follows_from_erlang_b(n_servers: int, rho: float) -> None:
    lost = _recursion(n_servers, rho * n_servers)
    expected = lost / (1 - rho * (1 - lost))
    assert erlang_c(n_servers=n_servers, load=rho * n_servers) == pytest.approx(expected, rel=1e-9)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-9, 1e9))
def test_one_server_is_mm1(load: float, c: float) -> None:
    many = MMc(rate_rps=load / c, service_rate_rps=1 / c, n_servers=1).solve()
    one = MM1(rate_rps=load / c, service_rate_rps=1 / c).solve()
    assert many.mean_response_s == pytest.approx(one.mean_response_s, rel=1e-9)
    assert many.response.ppf([0.3, 0.999]) == pytest.approx(one.response.ppf([0.3, 0.999]), rel=1e-9)
    assert many.number_pmf(4) == pytest.approx(one.number_pmf(4), rel=1e-9)


@pytest.mark.parametrize("excess", [0.0, 1e-13, 1e-7, 1e-3])
def test_the_response_has_no_pole_where_wait_and_service_have_one_rate(excess: float) -> None:
    answer = MMc(rate_rps=2.0 - excess, service_rate_rps=1.0, n_servers=3).solve()  # 3 mu - lam = mu + excess
    late = np.exp(-4.0) * (1 + answer.prob_wait * 4.0)
    assert float(answer.response.sf(4.0)) == pytest.approx(late, rel=3 * excess + 1e-12)


def test_numbers_present_sum_to_one_for_many_servers() -> None:
    answer = MMc(rate_rps=9800.0, service_rate_rps=1.0, n_servers=10_000).solve()
    assert sum(answer.number_pmf(n) for n in range(9000, 11_500)) == pytest.approx(1.0, abs=1e-10)


@settings(max_examples=40)
@given(st.floats(0.05, 3.0), st.integers(1, 40), st.integers(0, 60))
def test_a_finite_queue_keeps_what_comes(load: float, n_servers: int, room: int) -> None:
    queue = MMcK(
        rate_rps=load * n_servers, service_rate_rps=1.0, n_servers=n_servers, capacity=n_servers + room
    )
    answer = queue.solve()
    assert answer.throughput_rps == pytest.approx(load * n_servers * (1 - answer.prob_block), rel=1e-10)
    assert answer.wait.mean_s == pytest.approx(answer.mean_wait_s, rel=1e-9, abs=1e-300)
    assert answer.response.mean_s == pytest.approx(answer.mean_wait_s + 1.0, rel=1e-9)
    if room == 0:
        assert answer.prob_block == pytest.approx(
            erlang_b(n_servers=n_servers, load=load * n_servers), rel=1e-9
        )


def test_much_room_is_no_limit() -> None:
    servers = {"rate_rps": 7.0, "service_rate_rps": 1.0, "n_servers": 8}
    finite, free = MMcK(**servers, capacity=600).solve(), MMc(**servers).solve()
    assert finite.mean_wait_s == pytest.approx(free.mean_wait_s, rel=1e-10)
    for name in ("wait", "response"):
        laws = getattr(finite, name), getattr(free, name)
        assert laws[0].ppf([0.5, 0.9, 0.999]) == pytest.approx(laws[1].ppf([0.5, 0.9, 0.999]), rel=1e-8)
        assert laws[0].var_s2 == pytest.approx(laws[1].var_s2, rel=1e-9)


def test_an_infinite_server_shows_only_the_mean_service() -> None:
    answers = [
        MGInf(rate_rps=3.0, service=law).solve() for law in (Exponential(mean=2.0), Gamma(mean=2.0, cv=3.0))
    ]
    assert answers[0].number_pmf(5) == answers[1].number_pmf(5)
    assert sum(answers[0].number_pmf(n) for n in range(60)) == pytest.approx(1.0)
    assert answers[1].response.ppf(0.9) == pytest.approx(Gamma(mean=2.0, cv=3.0).ppf(0.9))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnstableError, match="add servers"):
        MMc(rate_rps=3.0, service_rate_rps=1.0, n_servers=3).solve()
    with pytest.raises(UnstableError, match="n_servers=2"):
        erlang_c(n_servers=2, load=2.0)
    with pytest.raises(ConfigError, match="capacity: 2 must be at least n_servers=3"):
        MMcK(rate_rps=1.0, service_rate_rps=1.0, n_servers=3, capacity=2)
    with pytest.raises(ConfigError, match="service"):
        MGInf(rate_rps=1.0, service=2.0)  # type: ignore[arg-type]
