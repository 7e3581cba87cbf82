"""`sched-sim predict`: theory alone, over a day as well, and a refusal where there is no model."""

from __future__ import annotations

import json

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.predict import MOST_STRETCHES, USUAL_STRETCHES
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import workload_of
from validation.cli._predict_text import clock
from validation.cli.app import main
from validation.predicted import predicted

SYSTEM = ["predict", "--hardware", "a100", "--model", "llama-3.1-8b", "--tier", "closed"]
DAY = ["--arrivals", "day(peak_to_mean=1.6)", "--rate", "6.5", "--windows", "12"]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, list[dict[str, object]]]:
    assert main([*SYSTEM, *words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_a_day_is_told_part_by_part_with_what_an_overload_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--scheduler", "chunked", *DAY)
    parts, [overload] = found["stretches"], found["overloads"]
    assert len(parts) == 12
    good = [part["goodput_frac"] for part in parts]
    load = [part["load_frac"] for part in parts]
    assert load[5] < 0.9 < good[0]  # type: ignore[operator]
    assert good[5] < 0.01  # type: ignore[operator]  # below the limit again, and all still late
    assert overload["start_s"] < overload["end_s"] < overload["cleared_s"]  # type: ignore[operator]


def test_the_text_says_when_and_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SYSTEM, "--scheduler", "chunked", *DAY]) == 0
    text = capsys.readouterr().out
    assert "fluid + diffusion" in text
    assert "from 2:40 h to 9:20 h; at most 22," in text


def test_a_steady_rate_is_one_point_and_a_time_above_the_limit_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    [point] = answer(capsys, "--rate", "5")["result"]
    assert (point["kind"], point["end_backlog"]) == ("steady state, predicted", None)
    [point] = answer(capsys, "--rate", "15", "--duration", "100", "--scheduler", "chunked")["result"]
    assert point["kind"] == "finite horizon, predicted"
    assert point["end_backlog"] > 100  # type: ignore[operator]


def test_several_rates_are_a_row_each_and_those_without_an_answer_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--scheduler", "chunked", "--rate", "8,50,4"]
    found = answer(capsys, *words)
    rows = found["result"]
    assert [row["rate_rps"] for row in rows] == [4.0, 8.0]
    [alone] = answer(capsys, "--scheduler", "chunked", "--rate", "8")["result"]
    assert rows[1] == alone
    assert found["provenance"]["scenario"]["rate_rps"] == [4.0, 8.0, 50.0]  # type: ignore[call-overload]
    [why_not] = found["not_answered"]
    assert str(why_not).startswith("--rate=50 is not below the limit")
    assert main([*SYSTEM, *words, "--format", "csv"]) == 0
    assert [line.split(",")[4] for line in capsys.readouterr().out.splitlines()] == ["rate_rps", "4.0", "8.0"]
    assert main([*SYSTEM, *words]) == 0
    text = capsys.readouterr().out
    assert "req/s  load (%)  good (%)" in text
    assert "no answer: --rate=50" in text


def test_several_days_are_a_row_each_with_their_parts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scheduler", "sjf", "--arrivals", "day(peak_to_mean=1.6)", "--rate", "3,4", "--windows", "6"]
    found = answer(capsys, *words)
    assert [len(one["stretches"]) for one in found["times"]] == [6, 6]  # type: ignore[arg-type]
    assert [one["mean_rate_rps"] for one in found["times"]] == pytest.approx([3.0, 4.0])


def test_replicas_share_a_day(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scheduler", "sjf", "--arrivals", "day(peak_to_mean=1.6)", "--windows", "6"]
    one = answer(capsys, *words, "--rate", "4")
    three = answer(capsys, *words, "--rate", "12", "--replicas", "3", "--router", "random")
    [alone], [shared] = one["result"], three["result"]
    assert shared["mean_ttft_s"] == pytest.approx(alone["mean_ttft_s"])
    for name in ("rate_rps", "limit_rps", "peak_waiting"):
        assert shared[name] == pytest.approx(3 * alone[name])  # type: ignore[operator]
    ends = [
        (first["end_waiting"], part["end_waiting"])
        for first, part in zip(one["stretches"], three["stretches"], strict=True)
    ]
    assert all(part == pytest.approx(3 * first) for first, part in ends)  # type: ignore[operator]


def test_replicas_above_the_limit_are_answered_for_a_number_of_all_requests(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--scheduler", "fcfs", "--router", "random"]
    [one] = answer(capsys, *words, "--rate", "12", "--requests", "1000")["result"]
    [two] = answer(capsys, *words, "--rate", "24", "--requests", "2000", "--replicas", "2")["result"]
    assert two["duration_s"] == pytest.approx(one["duration_s"])
    assert two["end_backlog"] == pytest.approx(2 * one["end_backlog"])  # type: ignore[operator]
    assert two["throughput_rps"] == pytest.approx(2 * one["throughput_rps"])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "lifo", "--rate", "1"], "no model of lifo; one of fcfs, chunked, slo"),
        (["--scheduler", "lifo", "--rate", "1"], "or run simulates it"),
        (["--scheduler", "chunked", "--rate", "50"], "give a horizon (--duration or --requests)"),
        (["--rate", "50", "--scheduler", "chunked"], "is not below the limit"),
        ([*DAY, "--scheduler", "sjf"], "no model of what that leaves"),
        (
            [*DAY, "--replicas", "2", "--router", "least_requests"],
            "router: no model of least_requests; one of random, round_robin, or run simulates it",
        ),
        (["--rate", "50,60", "--scheduler", "chunked"], "--rate=50 is not below the limit"),
        (["--rate", "4,x"], "--rate: 'x' is not a number"),
        (["--rate", "4,4"], "--rate: '4' comes twice"),
        (
            ["--arrivals", "day(peak_to_mean=1.6)", "--rate", "5", "--duration", "1e9"],
            "--duration: 1e+09 s are",
        ),
        (["--rate", "1", "--conversations", "turns(n=3,think_s=1)"], "no model of conversations"),
        (["--rate", "1", "--windows", "0"], "windows: 0"),
        (["--rate", "1", "--windows", str(MOST_STRETCHES + 1)], f"windows: {MOST_STRETCHES + 1}"),
    ],
)
def test_what_has_no_model_is_refused_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SYSTEM, *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_parts_are_as_many_as_the_help_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--arrivals", "day(peak_to_mean=1.6)", "--rate", "5")
    assert len(found["stretches"]) == USUAL_STRETCHES
    assert main(["predict", "--help"]) == 0
    assert f"[{USUAL_STRETCHES} of a day" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_a_number_of_requests_on_a_day_is_that_number(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--arrivals",
        "day(peak_to_mean=1.8,period_s=3600)",
        "--rate",
        "3",
        "--requests",
        "9000",
        "--scheduler",
        "sjf",
    ]
    [whole] = answer(capsys, *words)["result"]
    assert whole["rate_rps"] * whole["duration_s"] == pytest.approx(9000)  # type: ignore[operator]


def test_one_token_each_is_answered_over_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scheduler", "chunked", "--rate", "2", "--output", "constant(1)", "--windows", "12"]
    assert len(answer(capsys, *words)["stretches"]) == 12


def test_no_parts_are_refused_not_taken_as_the_usual_number() -> None:
    scenario = Scenario(hardware="a100", model="llama-3.1-8b", rate_rps=2.0)
    with pytest.raises(ConfigError, match="n_stretches: 0"):
        predicted(scenario, replica_of(scenario), workload_of(scenario), n_stretches=0)


def test_times_of_a_day_are_hours_and_those_of_a_short_run_seconds() -> None:
    assert [clock(0.0, 86400.0), clock(59.6 * 60, 86400.0), clock(3599.0, 3600.0)] == [
        "0:00 h",
        "1:00 h",
        "3599 s",
    ]
