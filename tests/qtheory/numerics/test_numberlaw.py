"""The number present: variance and percentiles from probabilities, and percentiles from the response."""

from __future__ import annotations

import math

import pytest

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Erlang, Hyperexponential, Lognormal, Uniform
from qtheory.numerics.numberlaw import NumberLaw, poisson_ppf
from qtheory.queues.multi import MapPhC, MMc
from qtheory.queues.single import MG1


@pytest.mark.parametrize("rho", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("c", [1, 3, 40])
def test_a_geometric_tail_is_summed_in_closed_form(rho: float, c: int) -> None:
    answer = MMc(rate_rps=rho * c, service_rate_rps=1.0, n_servers=c).solve()
    law, pmf = NumberLaw(answer.number_pmf), answer.number_pmf
    last = c + 20
    terms = [(n - answer.mean_number) ** 2 * pmf(n) for n in range(last)]
    gap, rest = last - answer.mean_number, 1.0 - rho
    tail = pmf(last) * (gap**2 / rest + 2 * gap * rho / rest**2 + rho * (1 + rho) / rest**3)
    assert law.var(answer.mean_number) == pytest.approx(math.fsum(terms) + tail, rel=1e-9)
    n = law.ppf(0.99)
    assert sum(pmf(k) for k in range(min(n, 3000))) < 0.99
    if n < 3000:
        assert sum(pmf(k) for k in range(n + 1)) >= 0.99


def test_the_variance_is_that_of_the_closed_form() -> None:
    for service in (Erlang(k=3, mean=1.0), Uniform(low=0.0, high=2.0)):
        answer = MG1(rate_rps=0.9, service=service).solve()
        assert NumberLaw(answer.number_pmf).var(answer.mean_number) == pytest.approx(
            answer.var_number, rel=1e-8
        )


def test_levels_and_the_general_queue_agree_on_the_number() -> None:
    service = Hyperexponential(probs=[0.8, 0.2], means=[0.625, 2.5])
    general = MG1(rate_rps=0.95, service=service).solve()
    levels = MapPhC(arrivals=Erlang(k=1, mean=1 / 0.95), service=service).solve()
    assert NumberLaw(levels.number_pmf).var(levels.mean_number) == pytest.approx(general.var_number, rel=1e-8)
    for level in (0.5, 0.9, 0.99, 0.999):
        n = NumberLaw(levels.number_pmf).ppf(level)
        assert n == NumberLaw(general.number_pmf).ppf(level) == poisson_ppf(0.95, general.response, level)


def test_a_heavy_tail_is_read_from_the_response() -> None:
    answer = MG1(rate_rps=0.9, service=Lognormal(mean=1.0, cv=2.0)).solve()
    for level in (0.9, 0.99):
        assert poisson_ppf(0.9, answer.response, level) == NumberLaw(answer.number_pmf).ppf(level)


def test_a_law_that_never_ends_is_said() -> None:
    with pytest.raises(ConvergenceError, match="is not known"):
        NumberLaw(lambda n: 1e-9).ppf(0.99)
