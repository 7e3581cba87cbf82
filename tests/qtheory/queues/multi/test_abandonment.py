"""Impatient customers: two routes, limits, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Discrete, Exponential, Gamma, Lognormal, Uniform
from qtheory.queues.multi import ErlangA, MMc, MMcG, MMcK, erlang_b


@settings(max_examples=40)
@given(st.integers(1, 200), st.floats(0.05, 3.0), st.floats(0.02, 50.0), st.floats(1e-6, 1e6))
def test_states_and_the_density_of_the_offered_wait_agree(
    n_servers: int, rho: float, patience: float, c: float
) -> None:
    servers = {"rate_rps": rho * n_servers / c, "service_rate_rps": 1 / c, "n_servers": n_servers}
    states = ErlangA(**servers, mean_patience_s=patience * c).solve()
    density = MMcG(**servers, patience=Exponential(mean=patience * c)).solve()
    for name in ("prob_wait", "prob_abandon", "mean_wait_s", "mean_wait_served_s", "throughput_rps"):
        assert getattr(density, name) == pytest.approx(getattr(states, name), rel=1e-8, abs=1e-300)
    if states.prob_wait > 1e-6:
        t = np.array([0.1, 1.0, 3.0]) * states.mean_wait_served_s
        assert density.wait.sf(t) == pytest.approx(states.wait.sf(t), rel=1e-7)
        assert density.wait_served.sf(t) == pytest.approx(states.wait_served.sf(t), rel=1e-7, abs=1e-14)
        assert density.wait_served.var_s2 == pytest.approx(states.wait_served.var_s2, rel=1e-7)
        assert density.wait.var_s2 == pytest.approx(states.wait.var_s2, rel=1e-4)


def test_endless_patience_is_mmc_and_none_at_all_is_the_loss_system() -> None:
    servers = {"rate_rps": 8.0, "service_rate_rps": 1.0, "n_servers": 10}
    patient, plain = ErlangA(**servers, mean_patience_s=1e7).solve(), MMc(**servers).solve()
    assert patient.mean_wait_s == pytest.approx(plain.mean_wait_s, rel=1e-5)
    assert patient.wait_served.ppf(0.99) == pytest.approx(plain.wait.ppf(0.99), rel=1e-5)
    hasty, loss = ErlangA(**servers, mean_patience_s=1e-9).solve(), MMcK(**servers, capacity=10).solve()
    assert hasty.prob_abandon == pytest.approx(loss.prob_block, rel=1e-6)
    constant = MMcG(**servers, patience=Constant(value=1e4)).solve()
    assert constant.mean_wait_s == pytest.approx(plain.mean_wait_s, rel=1e-9)


@settings(max_examples=20)
@given(st.floats(0.05, 4.0), st.floats(0.05, 20.0))
def test_one_server_with_constant_patience_has_its_closed_form(load: float, patience: float) -> None:
    answer = MMcG(rate_rps=load, service_rate_rps=1.0, n_servers=1, patience=Constant(value=patience)).solve()
    spare = 1 - load
    early = -np.expm1(-spare * patience) / spare if abs(spare) > 1e-9 else patience
    late = np.exp(-spare * patience)  # mass of the offered wait up to the patience, and beyond it
    idle = 1 / (1 + load * (early + late))
    assert answer.prob_wait == pytest.approx(1 - idle, rel=1e-9)
    assert answer.prob_abandon == pytest.approx(load * idle * late, rel=1e-9)


@pytest.mark.parametrize(
    "patience",
    [
        Gamma(mean=1.0, cv=2.0),
        Lognormal(mean=1.0, cv=0.5),
        Uniform(low=0.5, high=1.5),
        Discrete(values=[0.2, 2.0], probs=[0.4, 0.6]),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_servers", [3, 1000])
def test_flows_balance_for_any_patience(patience: Gamma, n_servers: int) -> None:
    queue = MMcG(rate_rps=1.05 * n_servers, service_rate_rps=1.0, n_servers=n_servers, patience=patience)
    answer = queue.solve()
    assert answer.throughput_rps == pytest.approx(queue.rate_rps * (1 - answer.prob_abandon), rel=1e-8)
    assert answer.utilization_frac * n_servers == pytest.approx(answer.throughput_rps, rel=1e-8)
    t = np.linspace(0.0, 3.0, 20_001)
    assert np.trapezoid(answer.wait.sf(t), t) == pytest.approx(answer.mean_wait_s, rel=2e-3, abs=1e-5)


@settings(max_examples=15)
@given(st.lists(st.floats(0.3, 2.0), min_size=2, max_size=2, unique=True))
def test_more_arrivals_lose_more(loads: list[float]) -> None:
    low, high = sorted(loads)
    lost = [
        ErlangA(rate_rps=20 * load, service_rate_rps=1.0, n_servers=20, mean_patience_s=1.0)
        .solve()
        .prob_abandon
        for load in (low, high)
    ]
    assert lost[0] <= lost[1]


def test_patience_without_end_needs_enough_servers() -> None:
    patience = Discrete(values=[0.5, 1e30], probs=[0.2, 0.8])
    with pytest.raises(UnstableError, match="too many never lose patience"):
        MMcG(rate_rps=2.0, service_rate_rps=1.0, n_servers=1, patience=patience).solve()
    with pytest.raises(ConfigError, match="patience"):
        MMcG(rate_rps=2.0, service_rate_rps=1.0, n_servers=1, patience=3.0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="mean_patience_s"):
        ErlangA(rate_rps=2.0, service_rate_rps=1.0, n_servers=1, mean_patience_s=0.0)


@pytest.mark.parametrize("load", [0.5, 0.99, 1.0, 1.01, 1.2, 3.0])
@pytest.mark.parametrize(("n_servers", "patience"), [(10, 60.0), (100, 60.0), (1000, 5.0), (1000, 0.05)])
def test_long_waits_in_overload_keep_their_closed_form(load: float, n_servers: int, patience: float) -> None:
    lam, full = load * n_servers, float(n_servers)
    answer = MMcG(
        rate_rps=lam, service_rate_rps=1.0, n_servers=n_servers, patience=Constant(value=patience)
    ).solve()
    # all relative to the mass just before the patience ends, which is the largest in overload
    spare = full - lam
    top = max(0.0, -spare * patience)
    before = (np.exp(-top) - np.exp(-spare * patience - top)) / spare if spare else patience
    beyond = np.exp(-spare * patience - top) / full
    lost = erlang_b(n_servers=n_servers - 1, load=lam)  # P(c - 1 busy | fewer than c)
    whole = np.exp(-top) / (lam * lost) + before + beyond
    assert answer.prob_abandon == pytest.approx(beyond / whole, rel=1e-8, abs=1e-15)
    assert answer.prob_wait == pytest.approx((before + beyond) / whole, rel=1e-9, abs=1e-15)
    assert 0 < answer.wait_served.ppf(0.999) <= patience or answer.prob_wait < 0.001
