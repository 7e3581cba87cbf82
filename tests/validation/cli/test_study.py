"""Replications, steady states, precision and processes, as the commands show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from validation.cli.app import main

SMALL = (
    "--hardware rtx3050 --mfu-frac 0.7 --rate 3 --requests 25 --workload rag --ttft-slo-s 2 --tpot-slo-s 0.1"
)


def call(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words.split()) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def result(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(f"{words} --format json", capsys))
    return found


def test_a_paired_difference_is_said_and_given_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"compare {SMALL} --schedulers fcfs,chunked"
    found = result(words, capsys)["differences"]
    assert [row["quantity"] for row in found] == ["goodput_frac", "mean_ttft_s", "p99_ttft_s", "p99_tpot_s"]
    tpot = found[-1]
    assert tpot["verdict"] == "chunked lower"
    assert 0 < tpot["low"] < tpot["difference"] < tpot["high"]
    said = call(words, capsys).splitlines()[-1]
    assert said.startswith(f"p99 TPOT: chunked lower than fcfs by {tpot['difference']:.3g} s (")
    assert result(f"{words} --replications 1", capsys)["differences"] == []


def test_one_replication_has_no_limits_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"run {SMALL} --replications 1"
    row = result(words, capsys)["result"][0]
    assert (row["n_replications"], row["n_requests"]) == (1, 25)
    assert all(value is None for name, value in row.items() if name.endswith(("_low", "_high")))
    text = call(words, capsys)
    assert "1 replication, so no confidence intervals" in text
    assert " ±" not in text.split("\n\n")[1]


def test_limits_stand_behind_their_value_in_csv(capsys: pytest.CaptureFixture[str]) -> None:
    names = call(f"run {SMALL} --format csv", capsys).splitlines()[0].split(",")
    place = names.index("p99_tpot_s")
    assert names[place : place + 3] == ["p99_tpot_s", "p99_tpot_s_low", "p99_tpot_s_high"]


def test_an_overloaded_point_says_that_it_has_no_steady_state(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "sweep --hardware rtx3050 --rates 1,20 --requests 600 --replications 3 --schedulers chunked --steady"
    )
    assert main(words.split()) == 0
    shown = capsys.readouterr()
    assert "no steady state (numbers of finite runs" in shown.out
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("sched-sim: note: Overloaded, no steady state")
    assert "chunked at 20 req/s" in shown.err
    assert main([*words.split(), "--format", "json", "-q"]) == 0
    shown = capsys.readouterr()
    rows = json.loads(shown.out)["result"]
    assert [row["kind"] for row in rows] == ["steady state", "overloaded: finite run, no steady state"]
    assert rows[1]["n_warm_up_requests"] == 0
    assert shown.err == ""


def test_precision_adds_replications_until_it_is_reached(capsys: pytest.CaptureFixture[str]) -> None:
    words = "run --hardware rtx3050 --rate 1 --requests 200 --replications 2 --precision"
    row = result(f"{words} 0.03", capsys)["result"][0]
    assert row["precision_reached"] is True
    assert row["n_replications"] > 2
    assert row["n_requests"] == 200 * row["n_replications"]
    assert main(f"{words} 0.001 --max-requests 800".split()) == 0
    shown = capsys.readouterr()
    assert "Precision not reached: chunked at 1 req/s after 4 replications (800 requests)" in shown.err


def test_the_bytes_do_not_depend_on_the_number_of_processes(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sweep --hardware rtx3050 --requests 30 --rates 2,6 --schedulers fcfs,slo --format json"
    once = call(f"{words} --jobs 1", capsys)
    assert call(f"{words} --jobs 2", capsys) == once
    assert call(f"{words} --jobs 5", capsys) == once
