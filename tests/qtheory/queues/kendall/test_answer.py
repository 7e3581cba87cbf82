"""Quantities by name, and reasons for those that are not there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.kendall import NamedQueue, NotGivenError, QueueAnswer, answer, over_rates, rate_range

LOADS = st.floats(0.01, 0.99)


def of(name: str, **given: object) -> QueueAnswer:
    return answer(NamedQueue(name=name, given=given))


MM1 = of("M/M/1", rate_rps=0.8, service_rate_rps=1.0)
CLASSES = of("M/G/1 priority nonpreemptive", rate_rps=[0.3, 0.4], service=[0.8, "exponential(mean=1.2)"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean_wait_s", 4.0),
        ("mean_wait", 4.0),
        ("utilization", 0.8),
        ("prob_wait", 0.8),
        ("p99_response_s", 5 * math.log(100)),
        ("p99.9_response", 5 * math.log(1000)),
        ("p50_number", 3.0),
        ("var_response_s2", 25.0),
        ("var_number", 20.0),
        ("tail_response(5)", math.exp(-1)),
        ("tail_wait_s( 5 )", 0.8 * math.exp(-1)),
    ],
)
def test_quantities_of_mm1_by_name(name: str, value: float) -> None:
    assert MM1.value(name) == pytest.approx(value, rel=1e-12)


def test_classes_and_stations_are_counted_from_one() -> None:
    law = CLASSES.result.wait_by_class[1]  # type: ignore[attr-defined]
    assert CLASSES.value("p99_wait_s_class2") == float(law.ppf(0.99))
    assert CLASSES.value("p99_wait_class2") == float(law.ppf(0.99))
    assert CLASSES.value("tail_wait(2)_class2") == float(law.sf(2.0))
    assert CLASSES.value("var_wait_s2_class2") == law.var_s2
    assert CLASSES.value("mean_wait_s_class2") == law.mean_s
    network = of(
        "open Jackson network", external_rps=[1.0], routing=[[0.5]], service_rates_rps=[4.0], servers=[1]
    )
    assert network.value("mean_number_station1") == 1.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mean_wiat_s", "unknown quantity .did you mean 'mean_wait_s'"),
        ("p99_wiat_s", "is no law of M/M/1 .did you mean 'wait'"),
        ("p0_wait_s", "a percentile lies between 0 and 100"),
        ("p100_wait_s", "a percentile lies between 0 and 100"),
        ("tail_wait(soon)", "'soon' is not a number of seconds"),
        ("tail_wait(-1)", "must be >= 0"),
        ("p99_wait_s_class3", "does not give it|no law"),
        ("exactness", "unknown quantity"),
        ("", "unknown quantity"),
    ],
)
def test_unknown_quantities_are_refused(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MM1.value(name)


@pytest.mark.parametrize(
    ("queue", "name", "why"),
    [
        (of("M/M/1-PS", rate_rps=0.5, service_rate_rps=1.0), "p99_wait_s", "nobody waits"),
        (of("M/M/1-PS", rate_rps=0.5, service_rate_rps=1.0), "mean_wait_s", "nobody waits"),
        (CLASSES, "p99_wait_s", "names that end in _class1"),
        (of("GI/G/1", interval=2.0, service=1.0), "p99_wait_s", "two moments do not decide"),
        (of("M/G/1", rate_rps=0.1, service="pareto(alpha=2.5, low=1)"), "var_wait_s2", "infinite"),
        (of("M/G/1", rate_rps=0.1, service="pareto(alpha=2.5, low=1)"), "var_number", "infinite"),
        (of("fork-join", rate_rps=0.5, service_rate_rps=1, n_branches=3), "p99_response_s", "depend"),
    ],
)
def test_what_a_model_does_not_give_has_a_reason(queue: QueueAnswer, name: str, why: str) -> None:
    with pytest.raises(NotGivenError, match=why):
        queue.value(name)
    assert why in queue.row((99,))["not_given"][name]


def test_numbers_far_beyond_counting_are_not_counted() -> None:
    full = of("M/G/1", rate_rps=0.9999, service="lognormal(mean=1, cv=3)")
    assert "is not known after" in full.row((99,))["not_given"]["p99_number"]


def test_a_number_whose_tail_falls_by_a_fixed_ratio_is_known_however_large() -> None:
    full = of("M/M/1", rate_rps=1 - 1e-6, service_rate_rps=1.0)
    assert full.value("p99_number") == pytest.approx(math.log(0.01) / math.log1p(-1e-6), abs=2)


def test_classes_have_numbers_of_their_own() -> None:
    one = CLASSES.value("mean_number_class1"), CLASSES.value("var_number_class1")
    assert CLASSES.value("p99_number_class1") >= one[0]
    assert one[0] + CLASSES.value("mean_number_class2") == pytest.approx(CLASSES.value("mean_number"))
    with pytest.raises(NotGivenError, match="_class1 and so on"):
        CLASSES.value("p99_number")


@given(LOADS, st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9]))
def test_a_change_of_the_unit_of_time_changes_times_alone(load: float, per: float) -> None:
    one = of("M/M/3", rate_rps=3 * load, service_rate_rps=1.0)
    other = of("M/M/3", rate_rps=3 * load * per, service_rate_rps=per)
    for name in ("mean_wait_s", "p99_response_s"):
        assert other.value(name) * per == pytest.approx(one.value(name), rel=1e-9, abs=1e-300)
    assert other.value("mean_number") == pytest.approx(one.value("mean_number"), rel=1e-9)


@pytest.mark.parametrize("rate", [1e-9, 1e9])
def test_far_rates_are_answered(rate: float) -> None:
    skewed = f"lognormal(mean={0.8 / rate!r}, cv=1.5)"
    scaled = of("M/G/1", rate_rps=rate, service=skewed).row((99,))
    usual = of("M/G/1", rate_rps=0.8, service="lognormal(mean=1, cv=1.5)").row((99,))
    for name in ("mean_wait_s", "p99_response_s"):
        assert scaled[name] * rate == pytest.approx(usual[name] * 0.8, rel=1e-6)


def test_rates_without_a_steady_state_have_a_line_of_their_own() -> None:
    asked = NamedQueue(name="M/M/2", given={"service_rate_rps": 1.0, "rate_rps": 99.0})
    good, bad = over_rates(asked, [1.0, 2.0], percentiles=(90,))
    assert good["p90_wait_s"] == of("M/M/2", rate_rps=1.0, service_rate_rps=1.0).value("p90_wait_s")
    assert "mean_wait_s" not in bad
    assert "add servers" in bad["unstable"]
    with pytest.raises(UnstableError, match="add servers, lower the rate"):
        answer(asked)


def test_rates_of_classes_are_told_as_their_sum() -> None:
    given = {"rate_rps": [0.3, 0.4], "service": [0.8, "exponential(mean=1.2)"]}
    rows = over_rates(NamedQueue(name="M/G/1 priority nonpreemptive", given=given), [0.7])
    assert rows[0]["rate_rps"] == 0.7
    assert rows[0]["mean_wait_s"] == pytest.approx(CLASSES.value("mean_wait_s"))


@pytest.mark.parametrize(
    ("given", "grid", "said"),
    [
        ({}, (1.0, 0.5, 3), "max_rate: 0.5 must lie above min_rate 1"),
        ({}, (0.0, 0.5, 3), "min_rate: 0.0 must be > 0"),
        ({}, (0.1, 0.5, 1), "points: 1 must be a whole number >= 2"),
        ({}, (0.1, 0.5, 1001), "points: 1001 is too many"),
    ],
)
def test_rates_that_make_no_range_are_refused(
    given: dict[str, object], grid: tuple[float, float, int], said: str
) -> None:
    asked = NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0, **given})
    with pytest.raises(ConfigError, match=said):
        rate_range(asked, min_rate=grid[0], max_rate=grid[1], points=grid[2])


def test_a_range_needs_an_end_where_there_is_no_limit() -> None:
    asked = NamedQueue(name="M/G/inf", given={"service": 1.0})
    with pytest.raises(ConfigError, match="max_rate: missing; M/G/inf has a steady state at any rate"):
        rate_range(asked, min_rate=None, max_rate=None, points=5)
    assert rate_range(asked, min_rate=None, max_rate=10.0, points=2) == [0.5, 10.0]
    closed = NamedQueue(name="closed network", given={"demands_s": [1.0], "population": 3})
    with pytest.raises(ConfigError, match="closed network has no arrival rate that could be varied"):
        rate_range(closed, min_rate=None, max_rate=None, points=5)


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("M/G/1-SRPT", {"rate_rps": 0.5, "service": "1"}, "no law in closed form|mean alone"),
        ("closed network", {"demands_s": [1.0, 2.0], "population": 3}, "one queue a station"),
        ("GI/G/1", {"rate_rps": 0.5, "scv_interval": 1, "mean_service_s": 1, "scv_service": 1}, "two"),
        ("M/G/1", {"rate_rps": 0.5, "service": "pareto(alpha=2.5, low=0.6)"}, "infinite"),
    ],
)
def test_a_variance_that_is_not_computed_is_not_called_infinite(
    name: str, given: dict[str, object], why: str
) -> None:
    with pytest.raises(NotGivenError, match=why) as error:
        answer(NamedQueue(name=name, given=given)).value("var_number")
    assert ("infinite" in str(error.value)) == (why == "infinite")


def test_an_infinite_variance_leaves_the_rest_of_the_answer() -> None:
    row = answer(
        NamedQueue(name="M/G/1-PS", given={"rate_rps": 0.2, "service": "pareto(alpha=1.5, low=1)"})
    ).row()
    assert row["mean_response_s"] == pytest.approx(7.5)
    assert "moment 2 is infinite" in row["not_given"]["var_response_s2"]


@pytest.mark.parametrize(
    ("name", "given", "start"),
    [
        ("M/G/1", {"rate_rps": 0.2, "service": "pareto(alpha=1.5, low=1)"}, "service: pareto"),
        ("G/M/1", {"interval": "pareto(alpha=0.9, low=1)", "service_rate_rps": 1}, "interval: pareto"),
        (
            "M/G/1 vacations",
            {"rate_rps": 0.5, "service": 1, "vacation": "pareto(alpha=1.5, low=1)"},
            "vacation: ",
        ),
    ],
)
def test_a_law_without_a_moment_is_named_by_its_parameter(
    name: str, given: dict[str, object], start: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{start}"):
        answer(NamedQueue(name=name, given=given))
