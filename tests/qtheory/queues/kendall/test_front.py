"""Names with numbers and letters, and parameters in all their forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Erlang, Exponential, Gamma, Hyperexponential, Law, fit_two_moments
from qtheory.laws.map_process import MarkovianArrivals
from qtheory.laws.phase_type import Coxian, PhaseType
from qtheory.queues import batch, multi, priority, queue, single
from qtheory.queues.kendall import NamedQueue, find_model, read_notation

H2 = fit_two_moments(1.0, 4.0)
NUMBERS = [
    ("M/M/8", {"rate_rps": 6, "service_rate_rps": 1}, multi.MMc(rate_rps=6, service_rate_rps=1, n_servers=8)),
    (
        "m/m/8/20",
        {"rate_rps": 6, "service_rate_rps": 1},
        multi.MMcK(rate_rps=6, service_rate_rps=1, n_servers=8, capacity=20),
    ),
    (
        "M/M/1/5",
        {"rate_rps": 6, "service_rate_rps": 1},
        multi.MMcK(rate_rps=6, service_rate_rps=1, n_servers=1, capacity=5),
    ),
    ("M/D/4", {"rate_rps": 3, "service_s": 1}, multi.MDc(rate_rps=3, service_s=1, n_servers=4)),
    (
        "M/D/1/7",
        {"rate_rps": 0.9, "service_s": 1},
        single.MG1K(rate_rps=0.9, service=Constant(value=1.0), capacity=7),
    ),
    (
        "M/E3/1/7",
        {"rate_rps": 0.9, "mean_service_s": 1},
        single.MG1K(rate_rps=0.9, service=Erlang(k=3, mean=1.0), capacity=7),
    ),
    (
        "E2/M/3",
        {"rate_rps": 2, "service_rate_rps": 1},
        multi.GMc(interval=Erlang(k=2, mean=0.5), service_rate_rps=1, n_servers=3),
    ),
    (
        "D/M/1",
        {"rate_rps": 0.5, "service_rate_rps": 1},
        single.GM1(interval=Constant(value=2.0), service_rate_rps=1),
    ),
    ("H2/M/1", {"interval": H2, "service_rate_rps": 2}, single.GM1(interval=H2, service_rate_rps=2)),
    (
        "M/H2/3",
        {"rate_rps": 2, "service": H2},
        multi.MapPhC(arrivals=Exponential(mean=0.5), service=H2, n_servers=3),
    ),
    (
        "E2/E3/1",
        {"rate_rps": 0.5, "mean_service_s": 1},
        multi.MapPhC(arrivals=Erlang(k=2, mean=2.0), service=Erlang(k=3, mean=1.0)),
    ),
    (
        "MMPP/M/1",
        {"rates_rps": [0.5, 1.1], "leave_per_s": [0.1, 0.2], "service_rate_rps": 1.0},
        multi.MapPhC(
            arrivals=MarkovianArrivals.modulated_poisson(rates_rps=[0.5, 1.1], leave_per_s=[0.1, 0.2]),
            service=Exponential(mean=1.0),
        ),
    ),
    (
        "M/M/inf",
        {"rate_rps": 2, "service_rate_rps": 4.0},
        multi.MGInf(rate_rps=2, service=Exponential(mean=0.25)),
    ),
    (
        "M/M/\u221e",
        {"rate_rps": 2, "mean_service_s": 0.25},
        multi.MGInf(rate_rps=2, service=Exponential(mean=0.25)),
    ),
    (
        "M/M/1-SRPT",
        {"rate_rps": 0.5, "mean_service_s": 1.0},
        priority.SRPT(rate_rps=0.5, service=Exponential(mean=1.0)),
    ),
    (
        "M/D[2,8]/1",
        {"rate_rps": 8, "base_s": 0.1, "slope_s": 0.01},
        batch.BatchQueue(
            rate_rps=8, service=batch.AffineService(base_s=0.1, slope_s=0.01), max_batch=8, min_batch=2
        ),
    ),
    (
        "M/D^{[1,8]}/1",
        {"rate_rps": 8, "base_s": 0.1, "slope_s": 0.01},
        batch.BatchQueue(rate_rps=8, service=batch.AffineService(base_s=0.1, slope_s=0.01), max_batch=8),
    ),
    (
        "M^[X]/M/1",
        {"rate_rps": 0.3, "group_pmf": [0.5, 0.5], "mean_service_s": 1.0},
        single.BatchArrivals(rate_rps=0.3, group_pmf=[0.5, 0.5], service=Exponential(mean=1.0)),
    ),
    (
        "M/M/8/8",
        {"rate_rps": 6, "service_rate_rps": 1},
        multi.MMcK(rate_rps=6, service_rate_rps=1, n_servers=8, capacity=8),
    ),
    (
        "M/G/4",
        {"rate_rps": 3, "service": Gamma(mean=1.0, cv=2.0)},
        multi.GGc(rate_rps=3, scv_interval=1.0, mean_service_s=1.0, scv_service=4.0, n_servers=4),
    ),
    (
        "M/M/1 priority non-preemptive",
        {"rate_rps": [0.2, 0.3], "service_rate_rps": [1.0, 2.0]},
        priority.NonpreemptivePriority(
            rate_rps=[0.2, 0.3], service=[Exponential(mean=1.0), Exponential(mean=0.5)]
        ),
    ),
]


@pytest.mark.parametrize(("name", "given", "model"), NUMBERS, ids=[row[0] for row in NUMBERS])
def test_numbers_and_letters_of_a_name_count(name: str, given: dict[str, object], model: object) -> None:
    assert queue(name, **given) == model


WAYS = [
    ("M/M/1", "service_rate_rps", 4.0, single.MM1(rate_rps=0.5, service_rate_rps=4.0)),
    ("M/M/1", "mean_service_s", 0.25, single.MM1(rate_rps=0.5, service_rate_rps=4.0)),
    ("M/M/1", "service", "exponential(mean=0.25)", single.MM1(rate_rps=0.5, service_rate_rps=4.0)),
    ("M/D/1", "service", "0.25", single.MD1(rate_rps=0.5, service_s=0.25)),
    ("M/D/1", "service_rate_rps", "4", single.MD1(rate_rps=0.5, service_s=0.25)),
    ("M/E_k/1", "service", "erlang(k=3, mean=1)", single.MEk1(rate_rps=0.5, n_phases=3, mean_service_s=1.0)),
    ("M/G/1", "service", 0.25, single.MG1(rate_rps=0.5, service=Constant(value=0.25))),
]


@pytest.mark.parametrize(("name", "key", "value", "model"), WAYS)
def test_a_service_can_be_said_in_every_way_that_its_letter_allows(
    name: str, key: str, value: object, model: object
) -> None:
    assert queue(name, rate_rps=0.5, **{key: value}) == model


def test_a_rate_or_a_mean_beside_a_law_stretches_it() -> None:
    stretched = queue("G/M/1", interval=Gamma(mean=1.0, cv=2.0), rate_rps=0.25, service_rate_rps=1.0)
    assert stretched == single.GM1(interval=Gamma(mean=4.0, cv=2.0), service_rate_rps=1.0)
    faster = queue("M/G/1", rate_rps=0.5, service=Gamma(mean=1.0, cv=2.0), service_rate_rps=4.0)
    assert faster == single.MG1(rate_rps=0.5, service=Gamma(mean=0.25, cv=2.0))
    modulated = queue(
        "MMPP/M/2", rates_rps=[1.0, 3.0], leave_per_s=[1.0, 1.0], rate_rps=1.0, service_rate_rps=1.0
    )
    assert isinstance(modulated, multi.MapPhC)
    assert isinstance(modulated.arrivals, MarkovianArrivals)
    assert modulated.arrivals.rate_rps == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("coxian(phase_rates=[2, 1], go_on=[0.3])", Coxian(phase_rates=[2.0, 1.0], go_on=[0.3])),
        ("phasetype(start=[1, 0], rates=[[-2, 2], [0, -2]])", None),
    ],
)
def test_laws_in_phases_can_be_written(text: str, law: Law | None) -> None:
    wanted = law or PhaseType(start=[1.0, 0.0], rates=[[-2.0, 2.0], [0.0, -2.0]])
    model = queue("M/PH/2", rate_rps=0.5, service=text)
    assert isinstance(model, multi.MapPhC)
    assert model.service == wanted


BAD = [
    ("M/Q/1", {}, "model: unknown 'M/Q/1' .did you mean"),
    ("M/G/1-SRTP", {}, "did you mean 'M/G/1-SRPT'"),
    ("M/D/4/20", {}, "model: unknown 'M/D/4/20'"),
    ("M/G/1-", {"rate_rps": 1}, "service: missing; M/G/1 needs"),
    ("", {}, "model: unknown ''"),
    (8, {}, "model: 8 is not text"),
    ("M/M/0", {}, "model: 0 in the name must be a whole number from 1"),
    ("M/M/" + "9" * 400, {}, "must be a whole number from 1"),
    ("M/M/1", {"service_rate_rps": 1}, "rate_rps: missing; M/M/1 needs rate_rps: mean arrival rate"),
    ("M/M/1", {"rate_rps": 1}, "needs service_rate_rps or mean_service_s or service: completions"),
    ("M/M/1", {"rate_rps": 1, "service_rate_rps": 2, "mean_service_s": 1}, "M/M/1 needs"),
    ("M/M/1", {"rate_rps": -1, "service_rate_rps": 2}, "rate_rps: -1.0 must be > 0"),
    ("M/M/1", {"rate_rps": float("nan"), "service_rate_rps": 2}, "rate_rps: nan is not a finite"),
    ("M/M/1", {"rate_rps": True, "service_rate_rps": 2}, "rate_rps: True is not a number"),
    ("M/M/1", {"rate_rps": "fast", "service_rate_rps": 2}, "rate_rps: 'fast' is not a number"),
    ("M/M/1", {"rate_rps": "\u0663", "service_rate_rps": 2}, "is not a number"),
    ("M/M/1", {"rate_rps": 1, "service_rate_rps": 0}, "service_rate_rps: 0.0 must be > 0"),
    ("M/M/1", {"rate_rps": 1, "service_rate": 2}, "did you mean 'service_rate_rps'"),
    ("M/M/8", {"rate_rps": 1, "service_rate_rps": 2, "n_servers": 4}, "n_servers: is 8 in the name 'M/M/8'"),
    ("M/M/c", {"rate_rps": 1, "service_rate_rps": 2, "n_servers": 2.5}, "n_servers: 2.5 is not a whole"),
    ("M/M/c", {"rate_rps": 1, "service_rate_rps": 2, "n_servers": 0}, "n_servers: 0 must be a whole"),
    ("M/M/1", {"rate_rps": 1, "service": Gamma(mean=1.0, cv=2.0)}, "is not exponential, as M in the name"),
    ("M/E2/1", {"rate_rps": 1, "service": Erlang(k=3, mean=1.0)}, "has 3 phases, not 2 as the name says"),
    ("M/E2/1", {"rate_rps": 1, "mean_service_s": 1, "n_phases": 2}, "n_phases: M/E2/1 takes none"),
    ("M/H3/1", {"rate_rps": 1, "service": H2}, "has 2 phases, not 3"),
    ("M/PH/2", {"rate_rps": 1, "service": Gamma(mean=1.0, cv=2.0)}, "not made of exponential phases"),
    ("E_k/E_k/1", {"rate_rps": 1, "mean_service_s": 0.5, "n_phases": 2}, "two Erlang laws"),
    ("M/G/1", {"rate_rps": 1, "service": "lognorml(mean=1)"}, "service: unknown law 'lognorml'"),
    ("M/G/1", {"rate_rps": 1, "service": "coxian(rate=1)"}, "service: coxian: takes start, rates, phase"),
    ("M/G/1", {"rate_rps": 1, "service": None}, "service: missing"),
    ("M/G/1 priority nonpreemptive", {"rate_rps": "0.2,,0.3", "service": "1,1"}, "no entry or an empty one"),
    ("M/G/1 priority nonpreemptive", {"rate_rps": [0.2], "service": [1, 2]}, "1 rates for 2 services"),
    ("closed network", {"demands_s": [1, 2], "servers": [1], "population": 3}, "servers: 1 of them for 2"),
    ("GI/G/1", {"rate_rps": 1, "service": 0.5}, "GI/G/1|G/G/1 needs interval or rate_rps with scv_interval"),
    ("GI/G/1", {"interval": 1, "service": "pareto(alpha=1.5, low=1)"}, "service: .* has no variance"),
    ("MAP/M/1", {"arrivals": 3, "service_rate_rps": 1}, "give without and with_arrival"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "said"), BAD)
def test_what_is_wrong_is_said_in_one_line(name: str, given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        queue(name, **given)
    assert "\n" not in str(caught.value)


def test_a_variant_keeps_the_shares_of_its_classes() -> None:
    asked = NamedQueue(
        name="M/M/2 priority nonpreemptive", given={"rate_rps": "0.2, 0.6", "service_rate_rps": 1.0}
    )
    model = asked.with_rate(0.4).model()
    assert isinstance(model, multi.MMcPriority)
    assert model.rate_rps == pytest.approx((0.1, 0.3), rel=1e-14)
    with pytest.raises(ConfigError, match="one a class, whose shares are kept"):
        NamedQueue(name=asked.name).with_rate(1.0)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("m / m / 8", "M/M/8"),
        ("gi/g/1", "G/G/1"),
        ("M/D/1 srpt", "M/D/1-SRPT"),
        ("Erlang B", "M/M/c/c"),
        ("m/g/1 PRIORITY preemptive resume", "M/G/1 priority preemptive-resume"),
    ],
)
def test_a_name_is_written_in_the_usual_way(name: str, title: str) -> None:
    assert NamedQueue(name=name).title == title


def test_a_law_of_one_kind_is_found_by_the_narrowest_model() -> None:
    narrow = {"M/E2/1": "M/E_k/1", "M/H2/1": "M/H_k/1", "E3/D/2": "E_k/D/c", "M/E2/3": "PH/PH/c"}
    narrow |= {"D/E2/1": "GI/G/1", "D/M/4": "G/M/c", "M/M/3+E2": "M/M/c+G", "M/D/1/9": "M/G/1/K"}
    assert {name: find_model(name)[0].name for name in narrow} == narrow


@given(
    st.sampled_from(["M", "D", "E2", "H2", "G", "PH", "MAP"]),
    st.sampled_from(["M", "D", "E3", "G"]),
    st.integers(1, 10**6),
    st.one_of(st.none(), st.integers(1, 10**6)),
)
def test_a_name_reads_back_from_what_it_is_written_as(
    arrivals: str, service: str, servers: int, capacity: int | None
) -> None:
    name = f"{arrivals}/{service}/{servers}" + (f"/{capacity}" if capacity else "")
    notation = read_notation(name)
    assert str(notation) == name
    assert notation is not None
    assert (notation.servers, notation.capacity) == (servers, capacity)


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_refused_in_one_line(text: str) -> None:
    try:
        find_model(text)
    except ConfigError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017


def test_hyperexponential_services_need_no_balance() -> None:
    law = Hyperexponential(probs=[0.3, 0.7], means=[2.0, 0.5])
    model = queue("M/H_k/1", rate_rps=0.5, service=law)
    assert model == single.MHk1(rate_rps=0.5, probs=(0.3, 0.7), service_rates_rps=[0.5, 2.0])
