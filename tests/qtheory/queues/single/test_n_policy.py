"""The N-policy against simulation and M/G/1."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Exponential, Gamma, Law, Uniform
from qtheory.queues.single import MG1, NPolicy


def simulated(rate: float, service: Law, threshold: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / rate, n + threshold))
    services = np.asarray(service.sample(rng, n), dtype=float)
    free, waits = -1.0, []
    begin = 0.0
    for i in range(n):
        if arrivals[i] > free and arrivals[i] >= begin:  # the first of a new gathering
            begin = arrivals[i + threshold - 1]
            free = begin
        start = max(free, begin)
        waits.append(start - arrivals[i])
        free = start + services[i]
    return np.array(waits)


@pytest.mark.parametrize("threshold", [1, 2, 5])
@pytest.mark.parametrize("service", [Exponential(mean=1.0), Uniform(low=0.2, high=1.4)], ids=str)
def test_waits_agree_with_simulation(threshold: int, service: Law) -> None:
    answer = NPolicy(rate_rps=0.6, service=service, threshold=threshold).solve()
    runs = np.array([simulated(0.6, service, threshold, 20_000, seed)[1000:] for seed in range(16)])
    means, spreads = runs.mean(axis=1), runs.var(axis=1)
    assert abs(means.mean() - answer.mean_wait_s) < 4 * means.std(ddof=1) / 4
    assert abs(spreads.mean() - answer.wait.var_s2) < 4 * spreads.std(ddof=1) / 4
    for t in (0.5, 2.0, 7.0):
        late = (runs > t).mean(axis=1)
        assert abs(late.mean() - float(answer.wait.sf(t))) < 4 * late.std(ddof=1) / 4 + 1e-9


def test_a_threshold_of_one_is_mg1() -> None:
    service = Gamma(mean=1.0, cv=1.3)
    one, plain = (
        NPolicy(rate_rps=0.7, service=service, threshold=1).solve(),
        MG1(rate_rps=0.7, service=service).solve(),
    )
    assert one.mean_wait_s == pytest.approx(plain.mean_wait_s)
    assert one.wait.var_s2 == pytest.approx(plain.wait.var_s2)
    assert float(one.response.ppf(0.95)) == pytest.approx(float(plain.response.ppf(0.95)), rel=1e-8)


def test_a_threshold_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="threshold: 0 must be a whole number >= 1"):
        NPolicy(rate_rps=0.5, service=Exponential(mean=1.0), threshold=0)


@pytest.mark.parametrize("service", [Exponential(mean=1.0), Gamma(mean=0.9, cv=0.5)], ids=str)
def test_the_number_present_has_its_moments(service: Law) -> None:
    n, rate = 4, 0.7
    answer = NPolicy(rate_rps=rate, service=service, threshold=n).solve()
    plain = MG1(rate_rps=rate, service=service).solve()
    present = np.arange(400)
    pmf = np.array([answer.number_pmf(int(k)) for k in present])
    assert pmf.sum() == pytest.approx(1.0, abs=1e-9)
    assert pmf[0] == pytest.approx(answer.prob_empty, rel=1e-9)
    assert pmf @ present == pytest.approx(answer.mean_number, rel=1e-8)
    spread = pmf @ (present - answer.mean_number) ** 2
    assert spread == pytest.approx(plain.var_number + (n * n - 1) / 12, rel=1e-7)  # those who gather: uniform


def test_constant_services_have_an_atom_that_percentiles_pass() -> None:
    queue = NPolicy(rate_rps=0.8, service=Constant(value=1.0), threshold=3)
    wait, response = queue.solve().wait, queue.solve().response
    jump = float(wait.sf(2.0 * (1 - 1e-9)) - wait.sf(2.0))
    assert jump == pytest.approx(0.2 / 3, abs=1e-4)
    levels = [0.1, 0.5, 0.9, 0.99]
    assert response.ppf(levels) == pytest.approx(wait.ppf(levels) + 1.0, rel=1e-6)
    assert queue.solve().var_number == pytest.approx(
        sum((n - queue.solve().mean_number) ** 2 * queue.solve().number_pmf(n) for n in range(200)), rel=1e-8
    )
