"""Bad cases, formats and folders: one line each that names the fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.scenarios import check_scenarios

CASES = Path(__file__).resolve().parents[1] / "data" / "scenarios"
FILES = sorted(CASES.glob("*.json"))

ENGINE = {
    "kind": "engine",
    "requests": [{"id": "A", "arrival": 0, "prompt_len": 5, "output_len": 1}],
    "expect": {"requests": {"A": {"ttft": 1.0}}},
}


def outcome(tmp_path, case):
    text = case if isinstance(case, str | bytes) else json.dumps({"id": "X", **case})
    (tmp_path / "X.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    (result,) = check_scenarios(tmp_path).cases
    return result.line()


def test_missing_keys_have_their_defaults(tmp_path):
    assert outcome(tmp_path, ENGINE) == "X ... passed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"config": {"max_batch_token": 3}},
            "unknown key 'max_batch_token' (did you mean 'max_batch_tokens'?)",
        ),
        (
            {"config": {"composition": "chuncked"}},
            "config.composition: unknown 'chuncked' (did you mean 'chunked'?)",
        ),
        ({"config": {"max_seqs": "4"}}, "config.max_seqs: '4' is not a whole number"),
        ({"config": {"max_seqs": 0}}, "max_seqs: 0 must be a whole number >= 1"),
        ({"config": {"iteration_time": 0}}, "config.iteration_time: 0 must be > 0"),
        ({"config": {"prefix_cache": 1}}, "config.prefix_cache: 1 is not true or false"),
        ({"kind": "engines"}, "kind: unknown 'engines' (did you mean 'engine'?)"),
        ({"kind": None}, "case.kind: None is not a text"),
        ({"extra": 1}, "case: unknown key 'extra'"),
        ({"id": "Y"}, "id: 'Y' is not the name of the file, 'X.json'"),
        ({"requests": {}}, "case.requests: {} is not a list"),
        ({"requests": [{"id": "A", "arrival": 0, "output_len": 1}]}, "give either 'prompt' or 'prompt_len'"),
        (
            {"requests": [{**ENGINE["requests"][0], "arival": 0}]},
            "unknown key 'arival' (did you mean 'arrival'?)",
        ),
        (
            {"requests": [{**ENGINE["requests"][0], "output_len": 0}]},
            "output_tokens: 0 in row 0 must be >= 1",
        ),
        ({"requests": ENGINE["requests"] * 2}, "two have the id 'A'"),
        ({"expect": {"requests": {"B": {"ttft": 1.0}}}}, "requests.B: there is no such request"),
        ({"expect": {"requests": {"A": {"tttf": 1.0}}}}, "unknown key 'tttf' (did you mean 'ttft'?)"),
        ({"expect": {"iterations": [{"strat": 0}]}}, "unknown key 'strat' (did you mean 'start'?)"),
        ({"expect": {"iterations": []}}, "iterations: expected 0, got 1"),
        ({"expect": {"iterations": 3}}, "expect.iterations: 3 is not a list"),
        (
            {"expect": {"iterations": [{"start": "soon"}]}},
            "iterations[0].start: 'soon' is not a finite number",
        ),
        ({"expect": {"events": None}}, "expect.events: None is not a list"),
        ({"expect": {"events": [{"t": []}]}}, "events[0].t: [] is not a finite number"),
        (
            {"expect": {"iterations": [{"finished": ["A"], "free_blocks_end": {"a": 1}}]}},
            "iterations[0].free_blocks_end: expected {'a': 1}, got 64",
        ),
        ({"config": {"num_blocks": 10**12}}, "num_blocks: 1000000000000 is too large; at most 1,000,000"),
        ({"config": {"block_size": 10**30}}, "config.block_size: 1e+30 is too large; at most 1,000,000"),
        (
            {"requests": [{**ENGINE["requests"][0], "output_len": 10**12}]},
            "requests[0].output_len: 1000000000000 is too large; at most 1,000,000",
        ),
        (
            {"requests": [{**ENGINE["requests"][0], "arrival": 10**400}]},
            "requests[0].arrival: 1e+400 is not a finite number",
        ),
        ({"config": {"num_blocks": 1, "block_size": 4}}, "request 0 waits for ever: 2 blocks are needed"),
    ],
)
def test_a_bad_case_is_one_line_that_names_the_fault(change, message, tmp_path):
    line = outcome(tmp_path, {**ENGINE, **change})
    assert line.startswith("X ... failed: ")
    assert message in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("{", "not valid JSON"),
        ("[1, 2]", "is not a table"),
        (b"\xff\xfe\x00", "not a text file"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_file_that_is_no_case_is_a_failure_and_not_a_crash(text, message, tmp_path):
    assert message in outcome(tmp_path, text)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    assert outcome(tmp_path, b"\xef\xbb\xbf" + json.dumps({"id": "X", **ENGINE}).encode()) == "X ... passed"


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ("abc", "is not a list of segments"),
        ([{"seq": [0, 5], "rep": [1, 1]}], "is not a segment"),
        ([{"sq": [0, 5]}], "unknown 'sq' (did you mean 'seq'?)"),
        ([{"seq": [0]}], "is not a list of whole numbers of the right length"),
        ([{"seq": [0, -1]}], "is not a list of whole numbers of the right length"),
        ([{"rep": [0, 10**12]}], "prompt.rep: 1000000000000 is too large; at most 1,000,000"),
        ([{"seq": [0, 900_000]}, {"seq": [0, 200_000]}], "prompt.seq: 200000 is too large; at most 100,000"),
        ([{"tokens": [1.5]}], "is not a list of whole numbers of the right length"),
    ],
)
def test_a_bad_token_sequence_is_named(segments, message, tmp_path):
    request = {"id": "A", "arrival": 0, "prompt": segments, "output_len": 1}
    assert message in outcome(tmp_path, {**ENGINE, "requests": [request]})


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ({"op": "alocate"}, "unknown 'alocate' (did you mean 'alloc'?)"),
        ({"op": "free", "id": "Z"}, "'Z' has no blocks"),
        ({"op": "free", "id": "A", "tokens": []}, "unknown key 'tokens'"),
        ({"op": "free", "id": "A", "expect": {"fre": 1}}, "unknown key 'fre' (did you mean 'free'?)"),
        (
            {"op": "append", "id": "A", "tokens": [{"rep": [0, 10**6]}]},
            "1000020 is too large; at most 1,000,000",
        ),
        ({"op": "refs", "expect": {"refs": 3}}, "expect.refs: 3 is not a table"),
        ({"op": "alloc", "id": "A", "tokens": [{"seq": [0, 1]}]}, "'A' has blocks already"),
    ],
)
def test_a_bad_block_operation_is_named(op, message, tmp_path):
    first = {"op": "alloc", "id": "A", "tokens": [{"seq": [0, 20]}]}
    assert message in outcome(tmp_path, {"kind": "blocks", "ops": [first, op]})


def test_growth_that_does_not_fit_changes_nothing(tmp_path):
    ops = [
        {"op": "alloc", "id": "A", "tokens": [{"seq": [0, 20]}], "expect": {"ok": True, "free": 0}},
        {"op": "append", "id": "A", "tokens": [{"seq": [20, 20]}], "expect": {"ok": False, "free": 0}},
        {"op": "append", "id": "A", "tokens": [{"seq": [20, 12]}], "expect": {"ok": True, "blocks": [0, 1]}},
    ]
    case = {"kind": "blocks", "config": {"num_blocks": 2}, "ops": ops}
    assert outcome(tmp_path, case) == "X ... passed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": "prefill_iteration"}, "did you mean 'prefill_iterations'"),
        ({"input": {"prompt": 5}}, "key 'cached' is missing"),
        ({"input": {"prompt": 5, "cached": 0, "budget": 4, "decodes": 4}}, "leave nothing of a budget"),
        ({"input": {"prompt": "5", "cached": 0, "budget": 4, "decodes": 1}}, "'5' is not a finite number"),
    ],
)
def test_a_bad_formula_case_is_named(change, message, tmp_path):
    given = {"prompt": 5, "cached": 0, "budget": 4, "decodes": 1}
    case = {"kind": "calc", "function": "prefill_iterations", "input": given, "expect": {"iterations": 2}}
    assert outcome(tmp_path, case) == "X ... passed"
    assert message in outcome(tmp_path, {**case, **change})


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (
            "arrival_schedule",
            {"requests": 1, "rate": 1.0, "draws": ["a"]},
            "input.draws.0: 'a' is not a finite",
        ),
        (
            "arrival_schedule",
            {"requests": 1, "rate": 10**400, "draws": [1]},
            "input.rate: 1e+400 is not a finite",
        ),
        (
            "kv_capacity",
            {"block_size": 1, "num_blocks": 9, "max_model_len": 9, "prompt": 1e308, "output": 1e308},
            "input: inf tokens are too many to compute with",
        ),
    ],
)
def test_numbers_that_no_formula_takes_are_a_failure_and_not_a_crash(function, given, message, tmp_path):
    case = {"kind": "calc", "function": function, "input": given, "expect": {}}
    assert message in outcome(tmp_path, case)


def test_a_latency_beyond_all_sense_is_a_difference_and_not_a_crash(tmp_path):
    rows = [{"id": "a", "send": 0.0, "chunk_times": [-1e308, 1e308]}]
    given = {"requests": rows, "duration": 1.0}
    case = {"kind": "metrics", "definition": "vllm_bench", "input": given, "expect": {"completed": 2}}
    assert "expected 2, got 1" in outcome(tmp_path, case)


def test_aiperf_leaves_failed_requests_out_of_rates_and_goodput(tmp_path):
    rows = [
        {"id": "a", "send": 0.0, "chunk_times": [1.0, 2.0]},
        {"id": "b", "send": 1.0, "chunk_times": [3.0, 3.5]},
        {"id": "c", "send": 2.0, "chunk_times": []},
    ]
    case = {
        "kind": "metrics",
        "definition": "aiperf",
        "input": {"requests": rows, "slo": {"time_to_first_token": 1.5, "inter_token_latency": 1.0}},
        "expect": {"request_throughput": 2 / 3.5, "goodput": 1 / 3.5, "inter_token_latency_p50": 0.75},
    }
    assert outcome(tmp_path, case) == "X ... passed"


def test_only_the_named_cases_run():
    results = check_scenarios(CASES, only=["E01", "B0"])
    assert {case.id[:2] for case in results.cases} == {"E0", "B0"}
    assert [case.id for case in results.cases if case.id.startswith("E")] == [
        "E01-admit-everything-that-fits"
    ]


def test_an_unknown_id_gets_the_nearest():
    with pytest.raises(ConfigError, match=r"no case begins with 'E99' \(did you mean"):
        check_scenarios(CASES, only=["E99"])


def test_a_folder_without_cases_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no case"):
        check_scenarios(tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        check_scenarios(FILES[0])


def test_the_closing_line_counts_all_outcomes(tmp_path):
    (tmp_path / "A.json").write_text(json.dumps({"id": "A", **ENGINE}))
    (tmp_path / "B.json").write_text("{")
    results = check_scenarios(tmp_path)
    assert results.closing_line() == "1 passed, 1 failed"
    assert results.text().splitlines()[-1] == results.closing_line()
    assert not results.is_good
    assert [row["outcome"] for row in results.rows()] == ["passed", "failed"]
