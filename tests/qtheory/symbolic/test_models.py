"""Each derived formula gives what the numeric model of the same queue gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Lognormal, Uniform
from qtheory.queues.batch import UnlimitedBatchQueue
from qtheory.queues.multi import MMc, MMcK, StepServer
from qtheory.queues.priority import SRPT, NonpreemptivePriority, ProcessorSharing
from qtheory.queues.single import GG1, MD1, MG1, MM1, BusyPeriod, MultipleVacations
from qtheory.symbolic import derivations, derive, explain


def _second_moment(law: Any) -> float:
    return float(law.var_s2 + law.mean_s**2)


NUMERIC: dict[str, Any] = {
    "mm1_number": lambda q: q.solve().mean_number,
    "mm1_wait": lambda q: q.solve().mean_wait_s,
    "mg1_wait": lambda q: q.solve().mean_wait_s,
    "mg1_wait_second_moment": lambda q: _second_moment(q.solve().wait),
    "md1_wait": lambda q: q.solve().mean_wait_s,
    "vacations_wait": lambda q: q.solve().mean_wait_s,
    "busy_period_mean": lambda q: q.solve().mean_busy_period_s,
    "busy_period_second_moment": lambda q: q.solve().var_busy_period_s2 + q.solve().mean_busy_period_s ** 2,
    "kingman_bound": lambda q: q.solve().mean_wait_s,
    "erlang_b": lambda q: q.solve().prob_block,
    "erlang_c": lambda q: q.solve().prob_wait,
    "mmc_wait": lambda q: q.solve().mean_wait_s,
    "mm1k_block": lambda q: q.solve().prob_block,
    "mm1k_number": lambda q: q.solve().mean_number,
    "cobham_urgent": lambda q: q.solve().mean_wait_s_by_class[0],
    "cobham_other": lambda q: q.solve().mean_wait_s_by_class[1],
    "processor_sharing": lambda q: q.solve().mean_response_s,
    "batch_capacity": lambda q: q.capacity_rps,
    "batch_phi0": lambda q: q.bound_phi0_s,
    "batch_phi1": lambda q: q.bound_phi1_s,
    "step_server_capacity": lambda q: q.capacity_rps,
    "step_server_number": lambda q: q.solve().mean_number,
}

SERVICES = [Exponential(mean=0.2), Constant(value=0.05), Gamma(mean=0.1, cv=3.0), Lognormal(mean=0.2, cv=1.5)]
MODELS: list[Any] = [
    *(MM1(rate_rps=rate, service_rate_rps=10.0) for rate in (1e-6, 3.0, 9.9)),
    *(MD1(rate_rps=rate, service_s=0.1) for rate in (0.5, 9.5)),
    *(MG1(rate_rps=4.0, service=service) for service in SERVICES),
    *(BusyPeriod(rate_rps=4.0, service=service) for service in SERVICES),
    MultipleVacations(rate_rps=7.0, service=Exponential(mean=0.1), vacation=Constant(value=0.2)),
    MultipleVacations(rate_rps=2.0, service=Erlang(mean=0.3, k=3), vacation=Uniform(low=0.1, high=4.0)),
    *(
        GG1(rate_rps=8.0, scv_interval=c, mean_service_s=0.1, scv_service=0.7, formula="kingman_bound")
        for c in (0.0, 2.5)
    ),
    *(MMc(rate_rps=0.8 * c, service_rate_rps=1.0, n_servers=c) for c in (1, 2, 17, 300)),
    *(MMcK(rate_rps=rate, service_rate_rps=1.0, n_servers=20, capacity=20) for rate in (8.0, 40.0)),
    *(MMcK(rate_rps=rate, service_rate_rps=1.0, n_servers=1, capacity=6) for rate in (0.3, 1.0, 2.0)),
    NonpreemptivePriority(rate_rps=[0.2, 0.3], service=[Exponential(mean=0.5), Exponential(mean=2.0)]),
    NonpreemptivePriority(rate_rps=[3.0, 0.1], service=[Constant(value=0.2), Gamma(mean=2.0, cv=2.0)]),
    ProcessorSharing(rate_rps=0.8, service=Lognormal(mean=1.0, cv=2.0)),
    *(UnlimitedBatchQueue(rate_rps=r, base_s=0.0018874, slope_s=0.0001438) for r in (10.0, 800.0, 6000.0)),
    UnlimitedBatchQueue(rate_rps=5.0, base_s=0.0, slope_s=0.1),
    UnlimitedBatchQueue(rate_rps=5.0, base_s=0.1, slope_s=0.0),
    StepServer(rate_rps=2.0, base_s=0.02, slope_s=0.0005, mean_steps=200, max_running=64),
    StepServer(rate_rps=2.0, base_s=0.02, slope_s=0.0005, mean_steps=200),
    StepServer(rate_rps=2.0, base_s=0.02, mean_steps=200),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda q: type(q).__name__)
def test_the_formula_gives_the_number_of_the_model(model: Any) -> None:
    for one in explain(model):
        wanted = NUMERIC[one.derivation.name](model)
        assert one.substitution.value == pytest.approx(wanted, rel=1e-9, abs=0.0), one.derivation.name


def test_every_derivation_but_that_of_littles_law_was_compared() -> None:
    compared = {one.derivation.name for model in MODELS for one in explain(model)}
    assert compared == set(derivations()) - {"littles_law"} == set(NUMERIC)


def test_littles_law_holds_in_the_models() -> None:
    answer = MG1(rate_rps=4.0, service=Gamma(mean=0.1, cv=3.0)).solve()
    values = {"rate_rps": 4.0, "mean_response_s": answer.mean_response_s}
    assert derive("littles_law").substitute(values).value == pytest.approx(answer.mean_number, rel=1e-9)


def test_the_response_to_sharing_grows_with_the_size() -> None:
    queue = ProcessorSharing(rate_rps=0.8, service=Lognormal(mean=1.0, cv=2.0))
    values = {"rate_rps": 0.8, "mean_service_s": 1.0, "size_s": 3.5}
    wanted = queue.mean_response_given_size_s(3.5)
    assert derive("processor_sharing").substitute(values).value == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=30)
@given(load=st.floats(0.01, 0.99), mean=st.floats(1e-6, 1e6), cv=st.floats(0.1, 4.0))
def test_pollaczek_khinchine_holds_at_any_scale(load: float, mean: float, cv: float) -> None:
    model = MG1(rate_rps=load / mean, service=Gamma(mean=mean, cv=cv))
    for one in explain(model):
        assert one.substitution.value == pytest.approx(NUMERIC[one.derivation.name](model), rel=1e-9)


def test_a_load_near_one_keeps_all_digits() -> None:
    model = MM1(rate_rps=1 - 1e-9, service_rate_rps=1.0)
    for one in explain(model):
        assert one.substitution.value == pytest.approx(NUMERIC[one.derivation.name](model), rel=1e-9)


def test_what_has_no_formula_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"no formula is derived for SRPT; there is for MM1,"):
        explain(SRPT(rate_rps=0.5, service=Exponential(mean=1.0)))
    with pytest.raises(ConfigError, match=r"no formula is derived for MMcK\("):
        explain(MMcK(rate_rps=1.0, service_rate_rps=1.0, n_servers=2, capacity=6))


def test_an_overloaded_model_is_refused() -> None:
    with pytest.raises(UnstableError, match=r"mm1_number: the load is 1.5, not below 1; lower the rate"):
        _ = explain(MM1(rate_rps=3.0, service_rate_rps=2.0))[0].substitution


def test_an_infinite_third_moment_leaves_the_mean_explained() -> None:
    from qtheory.laws import Pareto

    model = MG1(rate_rps=0.2, service=Pareto(alpha=2.5, low=1.0))
    names = [one.derivation.name for one in explain(model)]
    assert names == ["mg1_wait", "busy_period_mean", "busy_period_second_moment"]
