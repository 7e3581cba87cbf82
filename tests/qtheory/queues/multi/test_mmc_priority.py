"""M/M/c with classes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Exponential
from qtheory.queues.multi import MMc, MMcPriority
from qtheory.queues.priority import NonpreemptivePriority


@settings(max_examples=15)
@given(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4), st.integers(1, 30), st.floats(0.05, 0.98))
def test_waits_of_the_classes_add_up_to_those_without(
    shares: list[float], n_servers: int, rho: float
) -> None:
    rates = [rho * n_servers * share / sum(shares) for share in shares]
    answer = MMcPriority(rate_rps=rates, service_rate_rps=1.0, n_servers=n_servers).solve()
    plain = MMc(rate_rps=sum(rates), service_rate_rps=1.0, n_servers=n_servers).solve()
    total = sum(rate * wait for rate, wait in zip(rates, answer.mean_wait_s_by_class, strict=True))
    assert total == pytest.approx(sum(rates) * plain.mean_wait_s, rel=1e-9)
    assert list(answer.mean_wait_s_by_class) == sorted(answer.mean_wait_s_by_class)


def test_one_server_is_the_single_server_with_classes() -> None:
    many = MMcPriority(rate_rps=[0.3, 0.2, 0.35], service_rate_rps=1.0, n_servers=1).solve()
    one = NonpreemptivePriority(rate_rps=[0.3, 0.2, 0.35], service=[Exponential(mean=1.0)] * 3).solve()
    assert many.mean_wait_s_by_class == pytest.approx(one.mean_wait_s_by_class, rel=1e-10)
    for ours, theirs in zip(many.wait_by_class, one.wait_by_class, strict=True):
        assert ours.ppf([0.5, 0.99]) == pytest.approx(theirs.ppf([0.5, 0.99]), rel=1e-6)
        assert ours.var_s2 == pytest.approx(theirs.var_s2, rel=1e-7)
    for ours, theirs in zip(many.response_by_class, one.response_by_class, strict=True):
        assert ours.ppf(0.9) == pytest.approx(theirs.ppf(0.9), rel=1e-6)


def test_the_most_urgent_see_only_themselves() -> None:
    answer = MMcPriority(rate_rps=[2.0, 6.0], service_rate_rps=1.0, n_servers=10).solve()
    assert answer.mean_wait_s_by_class[0] == pytest.approx(answer.prob_wait / 8.0)
    assert float(answer.wait_by_class[0].sf(0.3)) == pytest.approx(answer.prob_wait * 2.718281828459045**-2.4)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnstableError, match="n_servers=2"):
        MMcPriority(rate_rps=[1.0, 1.0], service_rate_rps=1.0, n_servers=2).solve()
    with pytest.raises(ConfigError, match="rate_rps: empty"):
        MMcPriority(rate_rps=[], service_rate_rps=1.0, n_servers=2)
    with pytest.raises(ConfigError, match="rate_rps"):
        MMcPriority(rate_rps=[1.0, -1.0], service_rate_rps=1.0, n_servers=2)


def test_the_order_of_the_classes_does_not_change_the_number_present() -> None:
    answer = MMcPriority(rate_rps=[1.0, 1.5], service_rate_rps=1.0, n_servers=3).solve()
    plain = MMc(rate_rps=2.5, service_rate_rps=1.0, n_servers=3).solve()
    assert answer.prob_empty == plain.prob_empty
    assert [answer.number_pmf(n) for n in range(20)] == [plain.number_pmf(n) for n in range(20)]
    assert sum(n * answer.number_pmf(n) for n in range(400)) == pytest.approx(answer.mean_number, rel=1e-9)
