"""M/M/c: variance of the number present, and the limit of stability under rounding."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import UnstableError
from qtheory.queues.multi import MMc
from qtheory.queues.single import MM1


@pytest.mark.parametrize(("load", "n_servers"), [(0.5, 1), (6.0, 8), (1.9, 2), (90.0, 100)])
def test_the_variance_of_the_number_is_that_of_its_law(load: float, n_servers: int) -> None:
    answer = MMc(rate_rps=load, service_rate_rps=1.0, n_servers=n_servers).solve()
    assert answer.number_pmf is not None
    pmf = [answer.number_pmf(n) for n in range(2_000)]
    mean = sum(n * p for n, p in enumerate(pmf))
    assert answer.var_number == pytest.approx(sum((n - mean) ** 2 * p for n, p in enumerate(pmf)), rel=1e-10)


def test_the_variance_keeps_its_digits_with_a_million_servers() -> None:
    answer = MMc(rate_rps=9e5, service_rate_rps=1.0, n_servers=1_000_000).solve()
    assert answer.var_number == pytest.approx(9e5, rel=1e-12)  # nobody waits: a Poisson law


@pytest.mark.parametrize("rate_rps", [1e-9, 3e-7, 0.1, 1.0, 7.3, 1e9])
def test_a_rate_equal_to_that_of_the_service_is_unstable_whatever_the_rounding(rate_rps: float) -> None:
    with pytest.raises(UnstableError):
        MM1(rate_rps=rate_rps, service_rate_rps=rate_rps).solve()
    with pytest.raises(UnstableError):
        MMc(rate_rps=3 * rate_rps, service_rate_rps=rate_rps, n_servers=3).solve()
