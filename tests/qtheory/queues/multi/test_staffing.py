"""Numbers of servers, and two-moment formulas."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential, Law
from qtheory.queues.multi import (
    ErlangA,
    GGc,
    GMc,
    MapPhC,
    MDc,
    MMc,
    erlang_b,
    erlang_c,
    garnett_wait,
    halfin_whitt_wait,
    servers_for_loss,
    servers_for_wait,
    square_root_servers,
)
from qtheory.queues.single import GG1


@settings(max_examples=40)
@given(st.floats(0.01, 1e5), st.floats(1e-6, 0.9))
def test_one_server_less_is_not_enough(load: float, target: float) -> None:
    wait, loss = servers_for_wait(load=load, prob_wait=target), servers_for_loss(load=load, prob_block=target)
    assert erlang_c(n_servers=wait, load=load) <= target
    assert wait - 1 <= load or erlang_c(n_servers=wait - 1, load=load) > target
    assert erlang_b(n_servers=loss, load=load) <= target
    assert loss == 1 or erlang_b(n_servers=loss - 1, load=load) > target


@pytest.mark.parametrize("beta", [0.2, 1.0, 2.5])
def test_square_root_rules_are_the_limits_of_large_systems(beta: float) -> None:
    load = 1e6
    n_servers = square_root_servers(load=load, beta=beta)
    assert erlang_c(n_servers=n_servers, load=load) == pytest.approx(halfin_whitt_wait(beta=beta), rel=6e-3)
    impatient = ErlangA(rate_rps=load, service_rate_rps=1.0, n_servers=n_servers, mean_patience_s=0.5).solve()
    assert impatient.prob_wait == pytest.approx(garnett_wait(beta=beta, patience_ratio=2.0), rel=6e-3)


def test_garnett_allows_fewer_servers_than_the_load() -> None:
    exact = ErlangA(rate_rps=1e5, service_rate_rps=1.0, n_servers=100_000 - 158, mean_patience_s=1.0).solve()
    assert exact.prob_wait == pytest.approx(garnett_wait(beta=-0.5, patience_ratio=1.0), rel=5e-3)


@pytest.mark.parametrize("formula", ["allen_cunneen", "whitt", "kimura", "lee_longton", "cosmetatos"])
def test_formulas_are_exact_for_exponentials(formula: str) -> None:
    moments = {"scv_interval": 1.0, "mean_service_s": 1.0, "scv_service": 1.0}
    queue = GGc(rate_rps=8.0, **moments, n_servers=10, formula=formula)
    exact = MMc(rate_rps=8.0, service_rate_rps=1.0, n_servers=10).solve()
    assert queue.solve().mean_wait_s == pytest.approx(exact.mean_wait_s, rel=1e-12)


CASES: list[tuple[Law, Law, float]] = [
    (Erlang(k=2, mean=1.0), Erlang(k=2, mean=1.0), 0.06),
    (Exponential(mean=1.0), Erlang(k=4, mean=1.0), 0.03),
    (Erlang(k=4, mean=1.0), Exponential(mean=1.0), 0.06),
    (Hyperexponential(probs=[0.8, 0.2], means=[0.6, 2.6]), Erlang(k=2, mean=1.0), 0.2),
]


@pytest.mark.parametrize(("interval", "service", "allowed"), CASES, ids=str)
def test_whitt_and_kimura_are_close_to_the_exact_mean(interval: Law, service: Law, allowed: float) -> None:
    exact = MapPhC(arrivals=interval.scaled(1 / 4.25), service=service, n_servers=5).solve().mean_wait_s
    common = {
        "rate_rps": 4.25,
        "scv_interval": interval.scv,
        "mean_service_s": 1.0,
        "scv_service": service.scv,
        "n_servers": 5,
    }
    assert GGc(**common, formula="whitt").mean_wait_s() == pytest.approx(exact, rel=allowed)
    if interval.scv <= 1:
        assert GGc(**common, formula="kimura").mean_wait_s() == pytest.approx(exact, rel=allowed)


def test_constant_services_and_intervals_are_close_to_their_exact_queues() -> None:
    common = {"rate_rps": 8.5, "mean_service_s": 1.0, "n_servers": 10}
    md10 = MDc(rate_rps=8.5, service_s=1.0, n_servers=10).solve().mean_wait_s
    dm10 = GMc(interval=Constant(value=1 / 8.5), service_rate_rps=1.0, n_servers=10).solve().mean_wait_s
    for formula in ("cosmetatos", "whitt", "kimura"):
        found = GGc(**common, scv_interval=1.0, scv_service=0.0, formula=formula).mean_wait_s()
        assert found == pytest.approx(md10, rel=0.02)
    for formula in ("whitt", "kimura"):
        found = GGc(**common, scv_interval=0.0, scv_service=1.0, formula=formula).mean_wait_s()
        assert found == pytest.approx(dm10, rel=0.15)


@given(st.floats(0.05, 0.98), st.floats(0, 4), st.floats(0, 4))
def test_one_server_is_kingman(load: float, ca2: float, cs2: float) -> None:
    common = {"rate_rps": load, "scv_interval": ca2, "mean_service_s": 1.0, "scv_service": cs2}
    many = GGc(**common, n_servers=1, formula="allen_cunneen").mean_wait_s()
    assert many == pytest.approx(GG1(**common, formula="kingman").mean_wait_s(), rel=1e-9)
    assert GGc(**common, n_servers=1, formula="sakasegawa").mean_wait_s() == pytest.approx(many, rel=1e-9)


def test_formulas_say_what_they_are_not_made_for() -> None:
    common = {"rate_rps": 1.0, "mean_service_s": 1.0, "n_servers": 2}
    with pytest.raises(ConfigError, match="Poisson"):
        GGc(**common, scv_interval=0.5, scv_service=1.0, formula="cosmetatos")
    with pytest.raises(ConfigError, match="use whitt"):
        GGc(**common, scv_interval=1.0, scv_service=2.0, formula="kimura")
    with pytest.raises(ConfigError, match="did you mean 'kimura'"):
        GGc(**common, scv_interval=1.0, scv_service=1.0, formula="kimuro")  # type: ignore[arg-type]
    with pytest.raises(UnstableError, match="n_servers=2"):
        GGc(rate_rps=2.0, mean_service_s=1.0, n_servers=2, scv_interval=1.0, scv_service=1.0).mean_wait_s()
    with pytest.raises(ConfigError, match="beta"):
        halfin_whitt_wait(beta=0.0)
