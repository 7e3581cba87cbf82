"""Prefill and decode apart, as scenarios and commands ask for it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from validation import answer
from validation.answer import Study
from validation.answer.serving import cluster_of
from validation.cli.app import main

SMALL = Scenario(
    scheduler="disaggregated",
    hardware="rtx3050",
    rate_rps=2.0,
    requests=12,
    prompt="constant(1000)",
    output="constant(20)",
    arrivals="constant",
)
KEPT = Study(n_replications=1, keep_records=True)


def test_a_slow_link_delays_the_second_token_by_its_transfer_time() -> None:
    fast = answer.run(SMALL, study=KEPT).records[0]
    slow = answer.run(replace(SMALL, link_bytes_per_s=1e8, link_latency_s=0.05), study=KEPT).records[0]
    bytes_sent = 1000 * answer.run(SMALL, study=KEPT).replica.model.kv_bytes_per_token("bf16")
    late_s = bytes_sent / 1e8 - bytes_sent / 25e9 + 0.05
    assert slow.first_token_s == pytest.approx(fast.first_token_s)
    assert slow.finish_s - fast.finish_s == pytest.approx(np.full(12, late_s), rel=1e-6)


def test_where_the_first_token_is_counted_moves_it_and_not_the_last() -> None:
    sent = replace(SMALL, link_bytes_per_s=1e8)
    first = answer.run(sent, study=KEPT).records[0]
    later = answer.run(replace(sent, first_token="transfer_end"), study=KEPT).records[0]
    assert np.all(later.first_token_s > first.first_token_s + 0.1)
    assert later.finish_s == pytest.approx(first.finish_s)


def test_layers_are_sent_while_others_are_computed() -> None:
    sent = replace(SMALL, link_bytes_per_s=1e8)
    whole = answer.run(sent, study=KEPT).records[0]
    layers = answer.run(replace(sent, layerwise_transfer=True), study=KEPT).records[0]
    assert np.all(layers.finish_s < whole.finish_s)


def test_instances_are_numbered_and_all_are_used() -> None:
    more = replace(SMALL, prefill_replicas=2, decode_replicas=3, rate_rps=40.0, requests=40)
    run = answer.run(more, study=KEPT)
    replica = run.records[0].replica
    assert replica is not None
    assert set(replica.tolist()) == {2, 3, 4}
    assert 0 < run.result.busy_frac < 1
    assert run.stepwise is None


def test_prompts_are_cut_where_that_is_asked_for() -> None:
    cut = replace(SMALL, scheduler="disaggregated(chunked_prefill=true)", budget_tokens=256)
    assert answer.run(cut, study=KEPT).result.n_finished == 12
    whole = answer.run(replace(SMALL, budget_tokens=256), study=KEPT).result
    assert whole.n_rejected == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replicas": 3}, "replicas: 3 given, but disaggregated has 1 + 1 of them"),
        ({"load_delay_s": 1.0}, "load_delay_s: 1 given, but pools know their loads"),
        ({"first_token": "transfer"}, "first_token: unknown 'transfer' (did you mean 'transfer_end'?)"),
        ({"router": "robin"}, "did you mean 'round_robin'"),
    ],
)
def test_pools_that_cannot_be_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cluster_of(replace(SMALL, **change))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_what_is_said_of_pools_needs_a_scheduler_that_has_them() -> None:
    given = replace(SMALL, scheduler="chunked", decode_replicas=2)
    with pytest.raises(ConfigError, match="decode_replicas: 2 given, but 'chunked' has no pools"):
        answer.run(given)
    both = answer.compare(given, ["chunked", "disaggregated"], study=Study(n_replications=1))
    assert [run.result.n_finished for run in both] == [12, 12]


def test_the_command_says_the_pools_and_records_say_the_instance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "records.csv"
    words = (
        "run --scheduler disaggregated --hardware rtx3050 --requests 6 --replications 1 --decode-replicas 2"
    )
    assert main([*words.split(), "--records-out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert (
        "1 prefill + 2 decode; a link for each pair of 25 GB/s; first token counted at prefill end" in shown
    )
    assert {row["replica"] for row in csv.DictReader(out.open(encoding="utf-8"))} <= {"0", "1", "2"}


def test_a_trace_of_the_inside_has_a_track_for_each_instance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "trace.json"
    words = "run --scheduler disaggregated --hardware rtx3050 --requests 4 --replications 1 --stalls 3"
    assert main([*words.split(), "--trace-out", str(out)]) == 0
    events = json.loads(out.read_text())["traceEvents"]
    assert len({event["pid"] for event in events if event.get("ph") == "X"}) >= 2
    assert "Longest gaps" in capsys.readouterr().out
