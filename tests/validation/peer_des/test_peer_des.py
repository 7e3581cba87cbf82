"""The simulator against a published engine's answers, and folders that cannot be read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from validation.cli.app import main
from validation.peer_des import check_peer
from validation.peer_des._tolerance import Tolerance, read_tolerance

EXTRACT = Path(__file__).parents[2] / "data" / "peer_des"
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXTRACT, tmp_path / "peer"))


def settings(folder: Path, change: Change) -> None:
    path = folder / "settings.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def alone(folder: Path, id_: str, **more: Any) -> None:
    """Leave one case, with some keys changed."""

    def change(content: dict[str, Any]) -> None:
        content["cases"] = [{**case, **more} for case in content["cases"] if case["id"] == id_]

    settings(folder, change)


def test_every_case_of_the_extract_holds() -> None:
    results = check_peer(EXTRACT)
    assert [case.line() for case in results.cases if case.outcome == "failed"] == []
    assert (results.n_passed, results.n_failed) == (39, 0)


def test_times_of_requests_agree_to_a_ten_thousandth_of_a_millisecond() -> None:
    results = check_peer(EXTRACT, only=["shared40", "whole30", "one_slot", "two_prompts"])
    moments = [one for case in results.cases for one in case.comparisons if one.column.endswith("_ms")]
    assert len(moments) > 1000
    assert max(one.off for one in moments) < 1.5e-4


def test_the_tight_memory_case_agrees_to_the_hundredth_of_a_millisecond(folder: Path) -> None:
    alone(folder, "kv_tight-vllm", tolerance={"abs_ms": 0.01})
    assert check_peer(folder).n_passed == 1


@pytest.mark.parametrize(
    ("id_", "rule", "word"),
    [
        ("kv_tight-vllm", "outputs_again", "prefill"),
        ("shared40-vllm", "means", "exact"),
        ("shared40-oldest", "victim", "last_admitted"),
        ("shared40-vllm", "preemption_mode", "fifo"),
        ("shared40-vllm", "admission", "no_evict"),
        ("shared40-vllm", "publication", "step_end"),
        ("tiny5-vllm", "composition", "prefill_first_chunked"),
        ("whole30-trtllm", "hit_cap", "known - 1, whole blocks"),
        ("whole30-vllm", "hit_cap", "none: a fully cached prompt computes nothing"),
        ("kv_tight-sglang", "sampled_token", "place at once"),
        ("tight24-sglang", "eviction", "as given back"),
        ("tight25-sglang", "eviction", "as given back"),
        ("shared40-sglang", "budget_unit", "token"),
        ("shared40-sglang", "ordering", "lpm"),
        ("shared40-lpm", "ordering", "fcfs"),
    ],
)
def test_each_rule_is_needed_and_can_be_switched(folder: Path, id_: str, rule: str, word: str) -> None:
    alone(folder, id_, tolerance={"abs_ms": 0.01}, **{rule: word})
    assert check_peer(folder).n_failed == 1


@pytest.mark.parametrize(
    ("id_", "rule", "word"),
    [
        ("radix-sglang_fifo-200", "sampled_token", "place at once"),
        ("radix-sglang_lpm-100", "room", "what is free now"),
    ],
)
def test_in_little_memory_two_more_rules_are_needed(folder: Path, id_: str, rule: str, word: str) -> None:
    alone(folder, id_, **{rule: word})
    assert check_peer(folder).n_failed == 1


def test_a_case_without_prefix_cache_reuses_nothing(folder: Path) -> None:
    alone(folder, "whole30-vllm", prefix_cache=False)
    (case,) = check_peer(folder).cases
    assert case.outcome == "failed"
    assert {one.got for one in case.comparisons if one.column == "reused_tokens"} == {0.0}


def test_lines_of_a_trace_may_come_in_any_order_and_late(folder: Path) -> None:
    rows = (folder / "tiny5.jsonl").read_text(encoding="utf-8").splitlines()
    answers = (folder / "tiny5_expected.csv").read_text(encoding="utf-8").splitlines()
    moved = [json.loads(row) | {"timestamp": json.loads(row)["timestamp"] + 7000} for row in reversed(rows)]
    (folder / "tiny5.jsonl").write_text("\n".join(map(json.dumps, moved)), encoding="utf-8")
    turned = [
        line.replace(f",{line.split(',')[1]},", f",{4 - int(line.split(',')[1])},", 1) for line in answers[1:]
    ]
    (folder / "tiny5_expected.csv").write_text("\n".join([answers[0], *turned]), encoding="utf-8")
    alone(folder, "tiny5-vllm")
    assert check_peer(folder).n_passed == 1


def test_a_request_that_never_runs_fails_its_case_and_not_the_check(folder: Path) -> None:
    alone(folder, "tiny5-vllm", num_blocks=20)
    (case,) = check_peer(folder).cases
    assert case.outcome == "failed"
    missing = {one.place for one in case.comparisons if one.column == "last_token_ms" and one.got != one.got}
    assert missing == {"request 2 ", "request 3 "}
    assert any("got none" in one.text() for one in case.comparisons)


def test_a_figure_may_differ_by_what_its_own_key_says_before_the_general_one() -> None:
    tolerance = Tolerance(bounds={"rel": 0.5, "p99_ttft_rel": 0.1, "throughput_rel": 0.2})
    assert tolerance.allowed("p99_ttft_ms", 10.0, offered_rps=1.0) == pytest.approx(1.0)
    assert tolerance.allowed("mean_ttft_ms", 10.0, offered_rps=1.0) == pytest.approx(5.0)
    assert tolerance.allowed("request_throughput_rps", 10.0, offered_rps=1.0) == pytest.approx(2.0)
    assert tolerance.allowed("completed", 10.0, offered_rps=1.0) == 0.0
    assert tolerance.allowed("reuse_ratio", 0.5, offered_rps=1.0) is None


def test_goodput_may_differ_by_a_share_of_what_is_offered() -> None:
    tolerance = read_tolerance("x", {"goodput_of_offered": 0.03})
    assert tolerance is not None
    assert tolerance.allowed("goodput_request_throughput_rps", 0.0, offered_rps=20.0) == pytest.approx(0.6)


def first(content: dict[str, Any]) -> dict[str, Any]:
    case: dict[str, Any] = content["cases"][0]
    return case


FAULTS: dict[str, tuple[Change, str]] = {
    "unknown key": (lambda c: c.update(case=[]), r"unknown key 'case' \(did you mean 'cases'\?\)"),
    "unknown key of a case": (lambda c: first(c).update(num_block=3), "unknown key 'num_block'"),
    "no cases": (lambda c: c.pop("cases"), "key 'cases' is missing"),
    "no rules": (lambda c: first(c).pop("rules"), r"cases\[0\]: key 'rules' is missing"),
    "rule set": (lambda c: first(c).update(rules="vlm"), r"rules: unknown 'vlm' \(did you mean 'vllm'\?\)"),
    "rule": (lambda c: c["rules"]["vllm"].update(victm="x"), "rules.vllm: unknown key 'victm'"),
    "word": (lambda c: c["rules"]["vllm"].update(victim="last"), "rules.vllm.victim: unknown 'last'"),
    "size": (lambda c: first(c).update(block_size=0), "block_size: 0 is not a whole number"),
    "trace": (lambda c: first(c).update(trace="tiny.jsonl"), "tiny.jsonl: cannot be read: no such file"),
    "path": (lambda c: first(c).update(trace="../x.jsonl"), "is not the name of a file in the folder"),
    "match": (lambda c: first(c).update(match={"engine": "x"}), "has no row with engine 'x'"),
    "column": (lambda c: first(c).update(match={"engin": "x"}), "has no column 'engin'"),
    "step time": (lambda c: first(c)["step_time"].update(kind="fixed"), "step_time.kind: unknown 'fixed'"),
    "step key": (lambda c: first(c)["step_time"].update(x=1), "step_time: unknown key 'x'"),
    "seconds": (lambda c: first(c)["step_time"].update(decode_ms="1"), "decode_ms: '1' is not a number"),
    "tolerance": (lambda c: first(c).update(tolerance={"abs": 1}), "tolerance: unknown key 'abs'"),
    "bound": (lambda c: first(c).update(tolerance={"abs_ms": -1}), "-1 is not a number of at least 0"),
    "judged": (lambda c: first(c).update(tolerance="informativ"), "did you mean 'informative'"),
    "rate": (lambda c: c["cases"][-1].update(rate_scale=[3]), "no row of the answers has rate_rps 3"),
    "twice": (lambda c: c["cases"].append(first(c)), "id 'tiny5-vllm' comes twice"),
    "flag": (lambda c: c.update(prefix_cache="yes"), "prefix_cache: 'yes' is not true or false"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_settings_is_one_line(
    folder: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, message = FAULTS[fault]
    settings(folder, change)
    with pytest.raises(ConfigError, match=message):
        check_peer(folder)
    assert main(["validate", "peer-des", str(folder)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


LINES = {
    "no JSON": ('{"timestamp": 0', "line 2: not valid JSON"),
    "no table": ("[1]", "line 2: .* is not a table"),
    "a key more": (
        '{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1], "x": 1}',
        "unknown key 'x'",
    ),
    "a key less": ('{"timestamp": 0, "input_length": 9, "output_length": 1}', "key 'hash_ids' is missing"),
    "no token": (
        '{"timestamp": 0, "input_length": 0, "output_length": 1, "hash_ids": []}',
        "input_length: 0 is not a whole number",
    ),
    "ids": (
        '{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1, 2]}',
        "2 ids for 9 tokens; at most 1",
    ),
    "time": (
        '{"timestamp": NaN, "input_length": 9, "output_length": 1, "hash_ids": [1]}',
        "timestamp: nan is not a number",
    ),
}


@pytest.mark.parametrize("fault", LINES)
def test_a_malformed_line_of_a_trace_is_named(folder: Path, fault: str) -> None:
    line, message = LINES[fault]
    rows = (folder / "tiny5.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "tiny5.jsonl").write_text("\n".join([rows[0], line]), encoding="utf-8")
    with pytest.raises(ConfigError, match=f"tiny5.jsonl: line 2.*{message.removeprefix('line 2')}"):
        check_peer(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("vllm,0,0.0", "line 2: 3 cells; the header has 10"),
        ("vllm,9,0,0,0,0,0,0,0,0", "request '9' of the answers is not one of the trace's 0 .. 4"),
        ("vllm,0,0,x,0,0,0,0,0,0", "admit_ms: 'x' is not a number"),
    ],
)
def test_a_malformed_line_of_the_answers_is_named(folder: Path, line: str, message: str) -> None:
    rows = (folder / "tiny5_expected.csv").read_text(encoding="utf-8").splitlines()
    (folder / "tiny5_expected.csv").write_text(f"{rows[0]}\n{line}\n", encoding="utf-8")
    alone(folder, "tiny5-vllm")
    with pytest.raises(ConfigError, match=message):
        check_peer(folder)


@pytest.mark.parametrize("name", ["tiny5.jsonl", "tiny5_expected.csv", "settings.json"])
def test_a_missing_file_is_bad_input(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).unlink()
    assert main(["validate", "peer-des", str(folder)]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_command_prints_a_line_a_case_and_closes_with_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "peer-des", str(folder), "--only", "one_slot,kv_tight-sglang"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [
        "one_slot-vllm ... passed",
        "kv_tight-sglang ... passed",
        "one_slot-sglang ... passed",
        "one_slot-trtllm ... passed",
    ]
    assert lines[-1] == "4 passed, 0 failed"


def test_a_case_that_only_informs_is_shown_and_not_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone(folder, "kv_tight-sglang", tolerance="informative", sampled_token="place at once")
    assert main(["validate", "peer-des", str(folder)]) == 0
    line, closing = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "kv_tight-sglang ... informative: 15 figures, not judged, furthest request 2 admissions"
    )
    assert closing == "0 passed, 0 failed"


def test_a_case_outside_its_tolerance_gives_exit_code_1_and_says_what_differs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone(folder, "kv_tight-vllm", tolerance={"abs_ms": 0.01}, outputs_again="prefill")
    assert main(["validate", "peer-des", str(folder)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "kv_tight-vllm ... failed: request 1 last_token_ms: expected 5480 ms, got 5470 "
        "(10, 0.18% off; 0.01 allowed)",
        "0 passed, 1 failed",
    ]


def test_programs_get_every_figure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone(folder, "radix-vllm-400")
    assert main(["validate", "peer-des", str(folder), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"n_passed": 1, "n_failed": 0}
    assert found["result"][0]["outcome"] == "passed"
    figures = {one["column"]: one for one in found["comparisons"]}
    assert set(figures) == {"reuse_ratio", "mean_ttft_ms", "duration_ms", "completed"}
    assert figures["mean_ttft_ms"]["got"] == pytest.approx(287.49, abs=0.01)
    assert figures["mean_ttft_ms"]["allowed"] == pytest.approx(0.02 * 287.49)
