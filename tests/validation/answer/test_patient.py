"""Scenarios whose clients time out: numbers by request, and what they do not go with."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from qtheory.system.workload.request import Requests
from sim.clients import Patience, simulate_retries
from sim.policies import Policy
from sim.record import Status
from sim.replica import Replica
from sim.testing import ConstantStep
from validation.answer import Study, compare, run
from validation.cli.app import main

BUSY: dict[str, Any] = {
    "hardware": "rtx3050",
    "rate_rps": 8.0,
    "requests": 60,
    "prompt": "500",
    "output": "150",
}
FLAGS = ["--hardware", "rtx3050", "--requests", "12", "--replications", "2", "--jobs", "1", "-q"]
ONE = Study(n_replications=1)


def test_endless_patience_gives_the_numbers_of_clients_that_wait() -> None:
    waits = run(Scenario(**BUSY), study=ONE).result.row()
    patient = run(Scenario(**BUSY, timeout_s=1e9, retries=3), study=ONE).result.row()
    new = {"n_attempts": 60, "n_given_up": 0, "attempts_per_request": 1.0, "wasted_frac": 0.0}
    assert {name: patient.pop(name) for name in new} == new
    assert all(waits.pop(name) is None for name in new)
    for name in ("mean_kv_frac", "peak_kv_frac"):  # of the first step of a run of steps; here each is one
        del waits[name]
    for name, value in waits.items():
        assert patient[name] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), name


@pytest.mark.parametrize("waits_for", ["first_token", "answer"])
def test_every_request_is_counted_once_and_every_attempt_too(waits_for: str) -> None:
    scenario = Scenario(
        **BUSY | {"max_seqs": 8, "requests": 120}, timeout_s=3.0, retries=2, waits_for=waits_for
    )
    found = run(scenario, study=Study(n_replications=2, keep_records=True))
    result = found.result
    assert result.n_requests == 240
    assert result.n_finished + result.n_given_up == 240
    assert result.n_attempts > 240
    assert result.attempts_per_request == result.n_attempts / 240
    assert 0 < result.wasted_frac < 1
    assert result.mean_e2e_s is not None
    for records in found.records:
        served = records.status == Status.FINISHED
        assert np.all(np.isnan(records.first_token_s[~served]))
        assert np.all(records.sent_s == records.requests.arrival_s)
    slowest = 3 * 3.0 + 1.0 + 2.0  # three attempts and the delays between them
    late = max(np.nanmax(records.first_token_s - records.sent_s) for records in found.records)
    assert 3.0 < late <= slowest if waits_for == "first_token" else late <= slowest


def test_who_still_has_a_retry_when_the_clock_stops_is_unfinished() -> None:
    asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[8, 8], output_tokens=[9, 1])
    policy, replica = (
        Policy(name="chunked", budget_tokens=8, max_seqs=1),
        Replica(step_time=ConstantStep(1.0), n_blocks=8),
    )
    ends = {
        retries: simulate_retries(
            asked, policy, replica, Patience(timeout_s=3.0, retries=retries, retry_delay_s=9.0), until_s=8.0
        ).by_request()
        for retries in (0, 1)
    }
    assert ends[0].status.tolist() == [Status.UNFINISHED, Status.ABORTED]
    assert ends[1].status.tolist() == [Status.UNFINISHED, Status.UNFINISHED]
    assert np.isnan(ends[1].finish_s[1])


def test_the_same_seed_gives_the_same_numbers_to_every_scheduler() -> None:
    scenario = Scenario(**BUSY | {"rate_rps": 40.0}, timeout_s=2.0, retries=1)
    first, again = (compare(scenario, ["fcfs", "sjf"], study=ONE) for _ in range(2))
    assert [one.result.row() for one in first] == [one.result.row() for one in again]
    assert {one.result.n_requests for one in first} == {60}


def test_the_command_writes_attempts_and_a_line_a_request(tmp_path: Path) -> None:
    out, lines = tmp_path / "run.json", tmp_path / "records.csv"
    more = ["--rate", "40", "--timeout-s", "2", "--retries", "1", "--waits-for", "answer"]
    assert (
        main(["run", *FLAGS, *more, "--format", "json", "--out", str(out), "--records-out", str(lines)]) == 0
    )
    found = json.loads(out.read_text(encoding="utf-8"))
    [result] = found["result"]
    assert result["n_attempts"] > result["n_requests"] == 24
    rows = list(csv.DictReader(lines.open(encoding="utf-8")))
    assert len(rows) == 24
    assert sum(row["status"] == "aborted" for row in rows) == result["n_given_up"]
    assert found["provenance"]["scenario"]["retries"] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--replicas", "2"], "--replicas: 2 given, but clients with timeout_s"),
        (["--scheduler", "disaggregated"], "--scheduler: disaggregated given, but clients with timeout_s"),
        (["--client-cap", "4"], "arrivals: poisson(client_cap=4) given, but clients with timeout_s"),
        (["--arrivals", "closed(4)"], "arrivals: closed(concurrency=4"),
        (
            ["--conversations", "turns(n=2,think_s=1,message=9)"],
            "--conversations given, but clients with timeout_s",
        ),
        (["--no-records"], "--no-records given, but clients with timeout_s"),
        (["--steady"], "--steady given, but clients with timeout_s"),
        (["--precision", "0.1"], "--precision given, but clients with timeout_s"),
        (["--explain-stalls"], "--timeout-s: 3 given, but no look inside a run"),
        (["--trace-out", "t.json"], "--timeout-s: 3 given, but no look inside a run"),
        (["--backoff", "0.5"], "--backoff: 0.5 must be >= 1"),
        (["--backoff", "1e9", "--retries", "99"], "no clock can count"),
        (["--waits-for", "anser"], "did you mean 'answer'"),
        (["--retries", "-1"], "--retries: -1"),
        (["--retries", "101"], "--retries: 101"),
        (["--retry-delay-s", "-1"], "--retry-delay-s: -1.0"),
        (["--timeout-s", "0"], "--timeout-s: 0"),
    ],
)
def test_what_cannot_work_gets_one_line_and_writes_nothing(
    words: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    timeout = [] if "--timeout-s" in words else ["--timeout-s", "3"]
    assert main(["run", *FLAGS, *timeout, *words, "--out", "out.txt"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["retries", "retry_delay_s", "backoff", "waits_for"])
def test_what_is_said_of_retries_needs_a_time_out(name: str) -> None:
    value: Any = {"waits_for": "answer"}.get(name, 3)
    with pytest.raises(
        ConfigError, match=f"{name}: .* given, but clients wait as long as it takes; add timeout_s"
    ):
        Scenario(**BUSY, **{name: value})


@pytest.mark.parametrize(
    ("flag", "instead"),
    [
        ("--timeout-s", "clients wait as long as it takes"),
        ("--client-cap", "clients send whatever is in flight"),
        ("--stop-s", "the clock never stops"),
    ],
)
def test_a_plan_refuses_what_it_does_not_heed(
    flag: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--rate", "4", "--hardware", "rtx3050", "--model", "qwen2.5-0.5b", "--price", "rtx3050=0.1"]
    assert main(["plan", *words, flag, "3"]) == 2
    assert f"{flag}: given, but in a plan {instead}" in capsys.readouterr().err
