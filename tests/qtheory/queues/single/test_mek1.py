"""M/E_k/1 by its poles against the general queue by transform inversion, at every load."""

from __future__ import annotations

import pytest

from qtheory.laws import Erlang
from qtheory.queues.single import MG1, MM1, MEk1

LOADS = [1e-9, 0.01, 0.49, 0.51, 0.9, 0.999, 1 - 1e-6]


@pytest.mark.parametrize("k", [2, 50, 128])
@pytest.mark.parametrize("load", LOADS)
def test_the_poles_and_the_transform_agree_at_every_load(k: int, load: float) -> None:
    poles = MEk1(rate_rps=load, n_phases=k, mean_service_s=1.0).solve()
    transform = MG1(rate_rps=load, service=Erlang(k=k, mean=1.0)).solve()
    for level in (0.5, 0.99, 0.999):
        assert poles.response.ppf(level) == pytest.approx(float(transform.response.ppf(level)), rel=2e-9)
        assert poles.wait.ppf(level) == pytest.approx(float(transform.wait.ppf(level)), rel=2e-8)
    assert poles.wait.var_s2 == pytest.approx(transform.wait.var_s2, rel=1e-9)


@pytest.mark.parametrize("load", LOADS)
def test_one_phase_is_exponential(load: float) -> None:
    erlang = MEk1(rate_rps=load, n_phases=1, mean_service_s=1.0).solve()
    exponential = MM1(rate_rps=load, service_rate_rps=1.0).solve()
    for level in (0.1, 0.99, 0.9999):
        assert erlang.response.ppf(level) == pytest.approx(float(exponential.response.ppf(level)), rel=1e-13)
