"""Mooncake traces and other JSON lines: what comes out, and what is wrong with bad ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.readers import _table, read_lengths, read_requests, spread_ticks

HEAD = Path(__file__).resolve().parents[4] / "data" / "traces" / "mooncake_conversation_head.jsonl"
GOOD = '{"timestamp": 500, "input_length": 900, "output_length": 5, "hash_ids": [7, 8]}\n'
NEXT = '{"timestamp": 3500, "input_length": 20, "output_length": 1, "hash_ids": [9]}\n'


@pytest.fixture
def written(tmp_path: Path):
    """A function that writes text or bytes and returns the path."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "trace.jsonl"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_an_extract_has_the_times_lengths_and_blocks_that_are_written_in_it():
    rows = [json.loads(line) for line in HEAD.read_text().splitlines()]
    requests = read_requests(HEAD)
    assert requests.arrival_s.tolist() == [row["timestamp"] / 1000 for row in rows]
    assert requests.prompt_tokens.tolist() == [row["input_length"] for row in rows]
    assert requests.output_tokens.tolist() == [row["output_length"] for row in rows]
    assert requests.block_hashes.block_tokens == 512
    assert [requests.block_hashes.row(i).tolist() for i in range(60)] == [row["hash_ids"] for row in rows]


@pytest.mark.shared
def test_the_whole_trace_is_read_and_hits_as_published(shared):
    requests = read_requests(shared / "data" / "traces" / "mooncake_fast25_conversation.jsonl.gz")
    assert len(requests) == 12_031
    assert requests.arrival_s[-1] == 3536.999
    seen: set[int] = set()
    n_hits = 0
    for i in range(len(requests)):
        ids = requests.block_hashes.row(i).tolist()
        fresh = next((k for k, block in enumerate(ids) if block not in seen), len(ids))
        n_hits += fresh
        seen.update(ids)
    assert n_hits / len(requests.block_hashes.ids) == pytest.approx(0.366, abs=5e-4)
    spread = spread_ticks(requests.arrival_s, np.random.default_rng(0))
    gaps = np.diff(spread)
    assert 0.95 < gaps.std() / gaps.mean() < 1.1 < np.diff(requests.arrival_s).std() / gaps.mean()


@pytest.mark.parametrize(
    "content",
    [
        GOOD + NEXT,
        "\n" + GOOD + "\n  \n" + NEXT + "\n",
        (GOOD + NEXT).replace("\n", "\r\n"),
        "\ufeff" + GOOD + NEXT.rstrip("\n"),
        (GOOD + NEXT).replace("500,", "500.0,"),
        (GOOD + NEXT).replace('{"', '{"chat": {"deep": [1, null]}, "'),
        gzip.compress((GOOD + NEXT).encode()),
    ],
    ids=["as is", "blank lines", "CRLF", "byte order mark", "floats", "other keys", "gzip"],
)
def test_the_same_two_requests_in_any_dress(written, content):
    requests = read_requests(written(content))
    assert requests.arrival_s.tolist() == [0.0, 3.0]
    assert requests.prompt_tokens.tolist() == [900, 20]
    assert [requests.block_hashes.row(i).tolist() for i in range(2)] == [[7, 8], [9]]


def test_block_ids_and_other_quantities_may_be_missing_or_there(written):
    text = '{"timestamp": 0, "input_length": 9, "output_length": 1, "priority": 2, "user": "ann"}\n'
    requests = read_requests(written(text + text.replace("ann", "bob")))
    assert requests.block_hashes is None
    assert requests.priority.tolist() == [2, 2]
    assert requests.client.tolist() == [0, 1]


def test_json_lines_with_the_names_of_plain_tables_are_read_as_such(written):
    text = '{"arrival_s": 0.5, "prompt_tokens": 9, "output_tokens": 1}\n'
    requests = read_requests(written(text + text.replace("0.5", "2")))
    assert requests.arrival_s.tolist() == [0.0, 1.5]


def test_lengths_come_from_json_lines_too(written):
    prompts, outputs = read_lengths(written(GOOD + NEXT))
    assert (prompts.tolist(), outputs.tolist()) == ([900, 20], [5, 1])


def test_a_table_with_the_names_of_mooncake_is_not_taken_for_milliseconds(written):
    rows = "timestamp,input_length,output_length\n0,9,9\n30,9,9\n"
    assert read_requests(written(rows)).arrival_s.tolist() == [0.0, 30.0]


def test_ticks_are_spread_when_asked_for(written):
    path = written(GOOD + GOOD + NEXT)
    assert read_requests(path).arrival_s.tolist() == [0.0, 0.0, 3.0]
    assert read_requests(path, ticks="even").arrival_s.tolist() == [0.0, 1.5, 3.0]
    drawn = read_requests(path, ticks="random", seed=4).arrival_s
    assert drawn.tobytes() == read_requests(path, ticks="random", seed=4).arrival_s.tobytes()
    assert drawn.tobytes() != read_requests(path, ticks="random", seed=5).arrival_s.tobytes()
    assert 0 <= drawn[0] < drawn[1] < 3 <= drawn[2] < 6
    with pytest.raises(ConfigError, match=r"ticks: unknown 'evn' \(did you mean 'even'\?\)"):
        read_requests(path, ticks="evn")
    with pytest.raises(ConfigError, match=r"trace.jsonl: arrival_s: all 2 requests come at 0 s"):
        read_requests(written(GOOD + GOOD), ticks="even")


def changed(old: str, new: str) -> str:
    return GOOD + NEXT.replace(old, new)


FAULTS = {
    "cut short": (GOOD + NEXT[:40], "line 2: not JSON ("),
    "pretty": ('{\n"timestamp": 0\n}\n', "line 1: not JSON ("),
    "array of objects": ('[{"timestamp": 0}]\n', "line 1: '[{\"timestamp\": 0}]' is not an object with keys"),
    "number later": (GOOD + "5\n", "line 2: '5' is not an object with keys; write one object a line"),
    "no keys": ("{}\n", "line 1: '{}' is not an object with keys"),
    "nested": (GOOD + '{"a": ' + "[" * 5000 + "\n", "line 2: "),
    "no output": ('{"timestamp": 0, "input_length": 9}\n', "line 1: no column for output_tokens; found"),
    "other keys": ('{"a": 0, "b\\nc": 9}\n', "line 1: unknown format; found a, 'b\\nc'; known are"),
    "missing later": (changed('"output_length": 1, ', ""), "line 2: output_length: '' is empty; give"),
    "null": (changed(": 20", ": null"), "line 2: input_length: '' is empty; give a whole number"),
    "word": (changed(": 20", ': "many"'), "line 2: input_length: 'many' is not a number; give"),
    "true": (changed(": 20", ": true"), "line 2: input_length: 'true' is not a number; give"),
    "NaN": (changed(": 20", ": NaN"), "line 2: input_length: 'NaN' is not a number; give"),
    "zero": (changed(": 20", ": 0"), "line 2: input_length: '0' is too small; give"),
    "half": (changed(": 20", ": 20.5"), "line 2: input_length: '20.5' is not whole; give"),
    "huge": (changed(": 20", ": " + "9" * 5000), "is not a finite number; give"),
    "list for a number": (changed(": 20", ": [20]"), "line 2: input_length: '[20]' is not a number"),
    "object for a number": (changed(": 20", ': {"a": 1}'), "line 2: input_length: "),
    "unsorted": (changed("3500", "400"), "line 2: timestamp: '400' is before the row above it; sort"),
    "negative time": (changed("3500", "-1"), "line 2: timestamp: '-1' is before the start; give"),
    "microseconds": (changed("3500", "1700000000000000"), "is too large for a time of which 1,000 are"),
    "ids are a number": (changed("[9]", "9"), "line 2: hash_ids: '9' is not a list of block ids; give whole"),
    "ids are missing": (changed(', "hash_ids": [9]', ""), "line 2: hash_ids: '' is not a list of block ids"),
    "ids are words": (changed("[9]", '["x"]'), "line 2: hash_ids: '[x]' is not a list of block ids"),
    "ids are negative": (changed("[9]", "[-9]"), "line 2: hash_ids: '[-9]' is not a list of block ids"),
    "an id is a list": (changed("[9]", "[[9]]"), "line 2: hash_ids: '[[9]]' is not a list of block ids"),
    "too many ids": (changed("[9]", "[9, 10]"), "line 2: hash_ids: '[9,10]' has more ids than the 1 blocks"),
    "after blank lines": ("\n" + GOOD + "\n\n" + changed(": 20", ": 0"), "line 6: input_length: '0'"),
    "same key in two spellings": ('{"timestamp": 0, "Timestamp": 1}\n', "line 1: 'timestamp' (column 1) and"),
    "cut gzip": (gzip.compress(GOOD.encode() * 9000)[:-20], "gzip data cut short or damaged"),
    "binary in a row": (GOOD.encode() + b"\xff\xfe\n", "not a text file (byte 0xff is not UTF-8)"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_bad_file_is_refused_with_one_line_that_says_where_and_why(written, case):
    content, said = FAULTS[case]
    path = written(content)
    with pytest.raises(ConfigError) as caught:
        read_requests(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "\n" not in message
    assert len(message) < len(str(path)) + 500


@pytest.mark.parametrize("block_rows", [1, 2, 3, 100])
@pytest.mark.parametrize("row", range(1, 7))
def test_the_line_is_right_in_every_block(written, monkeypatch, row, block_rows):
    monkeypatch.setattr(_table, "BLOCK_ROWS", block_rows)
    lines = [GOOD if i % 2 else "\n" + GOOD for i in range(8)]  # a blank line before every second one
    lines[row] = lines[row].replace("900", "0")
    with pytest.raises(ConfigError, match=f": line {row + 1 + row // 2 + 1}: "):
        read_requests(written("".join(lines)))


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.lists(st.integers(0, 10**18 - 1), max_size=4)), min_size=1),
    st.integers(1, 5),
)
def test_what_is_written_comes_back_whatever_the_size_of_a_block(tmp_path_factory, rows, block_rows):
    rows.sort(key=lambda row: row[0])
    path = tmp_path_factory.mktemp("trip") / "trace.jsonl"
    objects = [{"timestamp": t, "input_length": 2048, "output_length": 1, "hash_ids": ids} for t, ids in rows]
    path.write_text("\n".join(map(json.dumps, objects)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_table, "BLOCK_ROWS", block_rows)
        requests = read_requests(path)
    assert requests.arrival_s.tolist() == [(t - rows[0][0]) / 1000 for t, _ in rows]
    assert [requests.block_hashes.row(i).tolist() for i in range(len(rows))] == [ids for _, ids in rows]


@given(st.text(alphabet='{}[]":,0123456789.-eE\n \\untimesap_', max_size=80))
def test_no_text_leads_to_anything_but_requests_or_one_line_of_error(tmp_path_factory, tail):
    path = tmp_path_factory.mktemp("text") / "trace.jsonl"
    path.write_text(GOOD + tail, newline="")
    try:
        assert len(read_requests(path)) >= 1
    except ConfigError as error:
        assert "\n" not in str(error)  # noqa: PT017
