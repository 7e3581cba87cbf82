"""Exponential batch servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.batch import MMb1
from qtheory.queues.single import MM1


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-9, 1e9))
def test_batches_of_one_are_mm1(load: float, c: float) -> None:
    batch = MMb1(rate_rps=load / c, service_rate_rps=1 / c, max_batch=1).solve()
    single = MM1(rate_rps=load / c, service_rate_rps=1 / c).solve()
    assert batch.mean_response_s == pytest.approx(single.mean_response_s, rel=1e-8)
    assert batch.response.ppf([0.5, 0.99]) == pytest.approx(single.response.ppf([0.5, 0.99]), rel=1e-8)


@given(st.floats(1e-4, 1 - 1e-6), st.integers(1, 1000))
def test_flows_and_batches_fit_together(load: float, max_batch: int) -> None:
    answer = MMb1(rate_rps=load * max_batch, service_rate_rps=1.0, max_batch=max_batch).solve()
    assert sum(answer.batch_pmf(k) for k in range(1, max_batch + 1)) == pytest.approx(1.0)
    assert answer.utilization_frac * answer.mean_batch_size == pytest.approx(load * max_batch, rel=1e-9)
    assert answer.mean_batch_seen >= answer.mean_batch_size * (1 - 1e-12)
    assert answer.mean_wait_s == pytest.approx(answer.wait.mean_s)


def test_a_rate_at_capacity_and_bad_numbers_are_refused() -> None:
    with pytest.raises(UnstableError, match="not below capacity_rps=3"):
        MMb1(rate_rps=3.0, service_rate_rps=1.0, max_batch=3).solve()
    with pytest.raises(ConfigError, match="max_batch"):
        MMb1(rate_rps=3.0, service_rate_rps=1.0, max_batch=0)
