"""Every model at the edges: heavy tails, loads next to 0 and 1, units, thousands of servers and batches."""

from __future__ import annotations

from functools import cache

import pytest

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws import Erlang, Lognormal
from tests.qtheory.queues.extremes import BATCHES, GENERAL, HEAVY, MANY_SERVERS, PLAIN, answer_is_sound

INFINITE = {  # what needs a second moment of the service
    *("mg1", "group_arrivals", "bounded_wait", "multiple_vacations", "single_vacation", "setup", "n_policy"),
    *("edf", "sjf", "limited_ps", "nonpreemptive", "resume", "finite_horizon"),
}
DEAR = {
    "gamma",
    "bounded_wait",
    "edf",
    "sjf",
    "srpt",
    "las",
    "psjf",
    "mginf",
    "n_policy",
    "mg1k",
    "busy_period",
}


def _marked(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.slow) if name in DEAR else name


@pytest.mark.parametrize("tail", HEAVY)
@pytest.mark.parametrize("name", [_marked(name) for name in GENERAL])
def test_heavy_tails_are_answered_or_the_infinite_moment_is_named(name: str, tail: str) -> None:
    model = GENERAL[name](0.7, HEAVY[tail])
    if tail == "pareto1.5" and name in INFINITE:
        with pytest.raises(ConfigError, match="moment 2 is infinite"):
            model.solve()
    else:
        answer_is_sound(model.solve())


@pytest.mark.parametrize("load", [1e-9, 1 - 1e-6])
@pytest.mark.parametrize("name", [_marked(name) for name in GENERAL])
def test_general_laws_at_loads_next_to_0_and_1(name: str, load: float) -> None:
    answer_is_sound(GENERAL[name](load, Erlang(k=2, mean=1.0)).solve())


@pytest.mark.parametrize("load", [1e-9, 1 - 1e-6])
@pytest.mark.parametrize("name", PLAIN)
def test_the_other_models_at_loads_next_to_0_and_1(name: str, load: float) -> None:
    model = PLAIN[name](load, 1.0)
    if name == "unlimited_batch" and load > 0.9:
        with pytest.raises(ConvergenceError, match="too close to 1"):
            model.solve()
    else:
        answer_is_sound(model.solve())


@cache
def _in_seconds(name: str) -> object:
    return GENERAL[name](0.7, Lognormal(mean=1.0, cv=1.0)).solve()


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("name", [_marked(name) for name in GENERAL])
def test_general_laws_in_any_unit(name: str, unit: float) -> None:
    small = _in_seconds(name)
    other = GENERAL[name](0.7 / unit, Lognormal(mean=unit, cv=1.0)).solve()
    answer_is_sound(other)
    for field in ("mean_wait_s", "mean_response_s"):
        if (wanted := getattr(small, field, None)) is not None:
            assert getattr(other, field) == pytest.approx(unit * wanted, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("name", PLAIN)
def test_the_other_models_in_any_unit(name: str, unit: float) -> None:
    small, other = (PLAIN[name](0.7, x).solve() for x in (1.0, unit))
    answer_is_sound(other)
    for field in ("mean_wait_s", "mean_response_s"):
        if (wanted := getattr(small, field, None)) is not None:
            assert getattr(other, field) == pytest.approx(unit * wanted, rel=1e-6)


@pytest.mark.parametrize("load", [0.9, 0.995, 1 - 1e-6])
@pytest.mark.parametrize("name", MANY_SERVERS)
def test_a_hundred_thousand_servers(name: str, load: float) -> None:
    answer_is_sound(MANY_SERVERS[name](load, 100_000).solve())


@pytest.mark.parametrize("load", [0.01, 0.95, 1 - 1e-6])
@pytest.mark.parametrize(
    "name", [pytest.param("gamma", marks=pytest.mark.slow), "constant", "mmb1", "step_server"]
)
def test_batches_of_a_thousand(name: str, load: float) -> None:
    answer_is_sound(BATCHES[name](load, 1000).solve())


@pytest.mark.parametrize("name", ["mg1", "gm1", "gmc", "srpt", "las", "resume"])
def test_a_load_of_one_is_unstable_for_all(name: str) -> None:
    with pytest.raises(UnstableError):
        GENERAL[name](1.0, Erlang(k=2, mean=1.0)).solve()
