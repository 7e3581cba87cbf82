"""Predictions over time: steady states where nothing changes fast, the fluid backlog above the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.predict import OverTime, Prediction, _standing, limit_rps, predict, predict_over_time
from qtheory.predict._crowd import Crowd, CrowdLaw
from qtheory.predict._rates import Rates
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import OpenArrivals, parse_arrivals
from qtheory.system.workload.from_scenario import workload_of

LIMIT_RPS = 9.005  # of a100, llama-3.1-8b, chat, chunked


def over_time(arrivals: str, rate_rps: float, *, scheduler: str = "chunked", **asked: object) -> OverTime:
    scenario = Scenario(
        hardware="a100", model="llama-3.1-8b", scheduler=scheduler, arrivals=arrivals, rate_rps=rate_rps
    )
    return predict_over_time(replica_of(scenario), workload_of(scenario), tier="closed", **asked)  # type: ignore[arg-type]


def steady(rate_rps: float, scheduler: str = "chunked", **horizon: float) -> object:
    scenario = Scenario(hardware="a100", model="llama-3.1-8b", scheduler=scheduler)
    return predict(replica_of(scenario), workload_of(scenario), rate_rps=rate_rps, tier="closed", **horizon)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheduler", ["chunked", "fcfs", "sjf", "disaggregated"])
def test_slow_changes_are_steady_states_one_after_the_other(scheduler: str) -> None:
    share = {"disaggregated": 0.3}.get(scheduler, 1.0)
    found = over_time(
        "profile(rates=[1, 2, 3], lengths_s=[6000, 6000, 6000])",
        4.0 * share,
        scheduler=scheduler,
        n_stretches=12,
    )
    for part in (3, 7, 11):
        stretch = found.stretches[part]
        point = steady(stretch.rate_rps, scheduler)
        for name in ("mean_ttft_s", "p50_ttft_s", "p99_ttft_s", "goodput_frac"):
            assert getattr(stretch, name) == pytest.approx(getattr(point, name), rel=0.03), name


@pytest.mark.parametrize("scheduler", ["chunked", "fcfs"])
def test_an_overload_is_that_of_the_fluid_path(scheduler: str) -> None:
    found = over_time("poisson", 12.0, scheduler=scheduler, duration_s=600.0)
    point = steady(12.0, scheduler, duration_s=600.0)
    assert found.mean_ttft_s == pytest.approx(point.mean_ttft_s, rel=0.03)  # type: ignore[attr-defined]
    assert found.p99_ttft_s == pytest.approx(point.p99_ttft_s, rel=0.03)  # type: ignore[attr-defined]
    assert found.peak_waiting == pytest.approx(point.end_backlog, rel=0.03)  # type: ignore[attr-defined]
    assert found.overloads[0].cleared_s is None


def test_what_an_overload_left_is_gone_when_as_much_could_be_served_as_came() -> None:
    found = over_time("profile(rates=[12, 4], lengths_s=[3000, 6000])", 20 / 3)
    [overload] = found.overloads
    assert (overload.start_s, overload.end_s) == pytest.approx((0.0, 3000.0))
    gathered = (12 - found.limit_rps) * 3000
    assert overload.peak_waiting == pytest.approx(gathered, rel=0.05)
    assert overload.cleared_s == pytest.approx(3000 + gathered / (found.limit_rps - 4), rel=0.02)


@pytest.mark.parametrize("n_stretches", [24, 250])
def test_times_of_an_overload_are_not_those_of_a_grid(n_stretches: int) -> None:
    found = over_time("day(peak_to_mean=1.6)", 6.5, n_stretches=n_stretches)
    [overload] = found.overloads
    turn = np.arcsin((found.limit_rps / 6.5 - 1) / 0.6) / (2 * np.pi) * 86400  # the rate is a sine
    assert overload.start_s == pytest.approx(turn, abs=1)
    assert overload.end_s == pytest.approx(43200 - turn, abs=1)
    assert overload.peak_s == found.peak_s == overload.end_s
    gone = np.linspace(overload.end_s, 86400, 100_000)
    rates = Rates(arrivals=parse_arrivals("day(peak_to_mean=1.6)"), mean_rps=6.5)  # type: ignore[arg-type]
    left = rates.arrived(gone) - rates.arrived(np.array(turn)) - found.limit_rps * (gone - turn)
    assert overload.cleared_s == pytest.approx(gone[np.argmax(left <= 0)], abs=60)  # of a fluid


def test_a_day_that_repeats_begins_with_what_the_last_one_left() -> None:
    late = "profile(rates=[4, 14], lengths_s=[6000, 2000])"
    fresh, again = (over_time(late, 6.5, repeats=repeats) for repeats in (False, True))
    assert fresh.stretches[0].goodput_frac > 0.99
    assert again.stretches[0].goodput_frac < 0.01
    assert again.overloads[-1].peak_waiting == pytest.approx(fresh.overloads[-1].peak_waiting, rel=0.1)


def test_whoever_has_no_model_of_overload_says_so() -> None:
    with pytest.raises(UnstableError, match="no model of what that leaves"):
        over_time("day(peak_to_mean=2)", 9.0, scheduler="sjf")
    assert over_time("day(peak_to_mean=1.5)", 4.0, scheduler="sjf").overloads == ()


@pytest.mark.parametrize(
    ("arrivals", "n_requests"),
    [
        ("day(peak_to_mean=1.9, period_s=1200)", 9000),
        ("day(peak_to_mean=1.9, period_s=1200, start_s=700)", 900),
        ("profile(rates=[1, 0, 5], lengths_s=[300, 400, 500])", 900),
        ("profile(rates=[1, 0, 5], lengths_s=[300, 400, 500], start_s=350)", 20000),
        ("poisson", 900),
    ],
)
def test_a_number_of_requests_lasts_until_so_many_have_come(arrivals: str, n_requests: int) -> None:
    scenario = Scenario(
        hardware="a100",
        model="llama-3.1-8b",
        scheduler="sjf",
        arrivals=arrivals,
        rate_rps=3.0,
        requests=n_requests,
    )
    workload = workload_of(scenario)
    found = predict_over_time(replica_of(scenario), workload, tier="closed", n_stretches=1)
    assert found.rate_rps * found.duration_s == pytest.approx(n_requests, rel=1e-9)
    drawn = workload.generate(np.random.default_rng(3)).arrival_s[-1]
    assert found.duration_s == pytest.approx(drawn, rel=5 / np.sqrt(n_requests))


def test_a_number_of_requests_ends_when_the_last_comes_not_after_a_quiet_time() -> None:
    arrivals = parse_arrivals("profile(rates=[1, 0, 5], lengths_s=[300, 400, 500])")
    assert isinstance(arrivals, OpenArrivals)
    rates = Rates(arrivals=arrivals, mean_rps=2800 / 1200)  # 1 and 5 req/s
    asked = (150.0, 300.0, 300.0 + 5.0, 2800.0, 2800.0 + 300.0)
    assert [rates.time_s(n) for n in asked] == pytest.approx([150.0, 300.0, 701.0, 1200.0, 1500.0], abs=1e-6)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_no_time_is_refused(seconds: float) -> None:
    with pytest.raises(ConfigError, match="duration_s"):
        over_time("day(peak_to_mean=1.5)", 4.0, duration_s=seconds)


def test_requests_of_one_token_are_overloaded_like_others() -> None:
    scenario = Scenario(
        hardware="a100", model="llama-3.1-8b", scheduler="chunked", output="constant(1)", rate_rps=2.0
    )
    replica, workload = replica_of(scenario), workload_of(scenario)
    rate = 1.3 * limit_rps(replica, workload)
    busy = predict_over_time(replica, replace(workload, rate_rps=rate), tier="closed", duration_s=200.0)
    fluid = predict(replica, workload, rate_rps=rate, duration_s=200.0)
    assert busy.mean_ttft_s == pytest.approx(fluid.mean_ttft_s, rel=0.03)


@pytest.mark.parametrize(("load", "warns"), [(0.6, False), (0.98, True), (1.1, True), (1.6, False)])
def test_the_highest_rate_warns_that_it_is_near_the_limit(load: float, warns: bool) -> None:
    found = over_time("day(peak_to_mean=2)", load * LIMIT_RPS / 2, n_stretches=1)
    assert any(note.startswith(f"load {load:.2f}: so close to 1") for note in found.warnings) == warns


def failing(from_load: float) -> Callable[..., Prediction]:
    """The front door, whose solver finds nothing from a load on."""

    def answer(*given: object, rate_rps: float, **more: object) -> Prediction:
        if rate_rps >= from_load * LIMIT_RPS:
            raise ConvergenceError("no law of the batches")
        return predict(*given, rate_rps=rate_rps, **more)  # type: ignore[arg-type]

    return answer


def without_a_solution(*_: object, **__: object) -> list[Prediction]:
    raise ConvergenceError("no law of the batches")


def test_a_steady_state_that_is_not_found_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_standing, "sweep", without_a_solution)
    monkeypatch.setattr(_standing, "predict", failing(0.9))
    [note] = over_time("day(peak_to_mean=1.5)", 4.0).warnings
    assert note.startswith("no steady state found at ")
    assert note.endswith("the others stand for it: no law of the batches")


def test_without_any_steady_state_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_standing, "sweep", without_a_solution)
    monkeypatch.setattr(_standing, "predict", failing(0.0))
    with pytest.raises(ConvergenceError, match=r"no steady state to go by; .* no law of the batches"):
        over_time("day(peak_to_mean=1.5)", 4.0)


def test_what_is_not_a_lack_of_convergence_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> list[Prediction]:
        raise ConfigError("output: what is this")

    monkeypatch.setattr(_standing, "sweep", refused)
    with pytest.raises(ConfigError, match="what is this"):
        over_time("day(peak_to_mean=1.5)", 4.0)


def test_a_loop_has_no_rate_over_time() -> None:
    with pytest.raises(ConfigError, match="rate"):
        over_time("closed(concurrency=4)", 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "day(peak_to_mean=1.7, period_s=50, start_s=20)",
        "profile(rates=[1, 0, 5], lengths_s=[3, 4, 5], start_s=8)",
    ],
)
def test_rates_are_those_that_arrivals_are_drawn_at(text: str) -> None:
    arrivals = parse_arrivals(text)
    assert isinstance(arrivals, OpenArrivals)
    times = arrivals.arrival_times(np.random.default_rng(1), 200.0, duration_s=120.0)
    rates = Rates(arrivals=arrivals, mean_rps=200.0)
    edges = np.linspace(0.0, 120.0, 41)
    expected = np.diff(rates.arrived(edges))
    seen = np.histogram(times, edges)[0]
    assert np.all(np.abs(seen - expected) <= 4.5 * np.sqrt(expected) + 1e-6)


CROWD = Crowd(
    running=np.array([0.0, 20.0, 50.0]), ended_rps=np.array([0.0, 4.0, 5.0]), burstiness=1.0, work_scv=0.5
)


def moments(law: CrowdLaw) -> tuple[float, float]:
    mean = float(law.mass @ law.numbers)
    return mean, float(law.mass @ (law.numbers - mean) ** 2)


@pytest.mark.parametrize("rate", [1.0, 4.0, 4.6])
def test_a_steady_law_stays_as_it_is(rate: float) -> None:
    law = CROWD.steady(rate)
    rates = Rates(arrivals=parse_arrivals("poisson"), mean_rps=rate)  # type: ignore[arg-type]
    [later] = CROWD.paths(rates, np.array([5000.0]), law.on(0.0, float(law.numbers[-1])))
    assert moments(later) == pytest.approx(moments(law), rel=0.02)


def test_beyond_the_limit_all_moves_by_drift_and_noise() -> None:
    start = CrowdLaw(origin=900.0, width=0.5, mass=np.eye(1, 401, 200)[0])
    rates = Rates(arrivals=parse_arrivals("poisson"), mean_rps=7.0)  # type: ignore[arg-type]
    [later] = CROWD.paths(rates, np.array([1000.0]), start)
    mean, variance = moments(later)
    assert mean == pytest.approx(1000 + 2 * 1000, rel=1e-6)
    assert variance == pytest.approx((7 * 1.0 + 5 * 0.5) * 1000, rel=0.02)


def test_a_month_of_days_is_answered_and_more_is_refused_in_one_line() -> None:
    swing = "day(peak_to_mean=1.6)"
    day, month = (over_time(swing, 4.0, scheduler="sjf", duration_s=days * 86400.0) for days in (1, 31))
    assert month.mean_ttft_s == pytest.approx(day.mean_ttft_s, rel=0.01)
    with pytest.raises(ConfigError, match=r"duration_s: 1e\+09 s are 11,574 times the 86400 s"):
        over_time(swing, 4.0, duration_s=1e9)
    scenario = Scenario(
        hardware="a100", model="llama-3.1-8b", arrivals=swing, rate_rps=4.0, requests=12_000_000
    )
    with pytest.raises(ConfigError, match="n_requests: "):
        predict_over_time(replica_of(scenario), workload_of(scenario), tier="closed")


def test_thousands_of_windows_are_answered_as_the_few_that_they_are_parts_of() -> None:
    levels = (0.5, 0.9, 1.3, 0.4)
    found = []
    for parts in (1, 600):
        rates = ",".join(str(level) for level in levels for _ in range(parts))
        lengths = ",".join([f"{3600 / parts:g}"] * (4 * parts))
        mean = LIMIT_RPS * sum(levels) / 4
        found.append(over_time(f"profile(rates=[{rates}],lengths_s=[{lengths}])", mean, n_stretches=4))
    few, many = found
    assert many.mean_ttft_s == pytest.approx(few.mean_ttft_s, rel=0.01)
    assert many.peak_waiting == pytest.approx(few.peak_waiting, rel=0.01)
