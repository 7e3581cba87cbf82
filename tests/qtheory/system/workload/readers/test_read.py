"""Files that can be read, and what comes out of them."""

from __future__ import annotations

import csv
import gzip
import os
import threading
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.system.workload.readers import _table, plain, read_lengths, read_requests, reader_names

EXTRACTS = Path(__file__).resolve().parents[4] / "data" / "traces"
AZURE = EXTRACTS / "azure_llm_2023_conv_head.csv"
PLAIN = "arrival_s,prompt_tokens,output_tokens\n0.5,100,5\n2.0,20,1\n"


@pytest.fixture
def written(tmp_path: Path):
    """A function that writes text or bytes and returns the path."""

    def write(content: str | bytes, name: str = "trace.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def timed(name: str, first: str, second: str) -> str:
    """The plain trace with another column of times."""
    return PLAIN.replace("arrival_s", name).replace("0.5", first).replace("2.0", second)


def columns(path: Path) -> tuple[list[float], list[int], list[int]]:
    requests = read_requests(path)
    return requests.arrival_s.tolist(), requests.prompt_tokens.tolist(), requests.output_tokens.tolist()


def test_an_azure_extract_has_the_times_and_lengths_that_are_written_in_it():
    with open(AZURE) as file:
        rows = list(csv.DictReader(file))
    times = [datetime.fromisoformat(row["TIMESTAMP"][:26]) for row in rows]
    arrival_s, prompt_tokens, output_tokens = columns(AZURE)
    assert len(arrival_s) == 200
    assert arrival_s == pytest.approx([(t - times[0]).total_seconds() for t in times], abs=1e-6)
    assert prompt_tokens == [int(row["ContextTokens"]) for row in rows]
    assert output_tokens == [int(row["GeneratedTokens"]) for row in rows]


def test_the_hundred_nanosecond_digit_of_azure_times_is_kept(written):
    rows = ["2023-11-16 18:15:46.6805900,1,1", "2023-11-16 18:15:46.6805907,1,1"]
    text = "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows])
    assert columns(written(text))[0] == [0.0, 7e-7]


def test_azure_times_with_a_zone_and_without_a_fraction_are_read(written):
    rows = [
        "2024-05-10 00:00:00+00:00,1,1",
        "2024-05-10 00:00:01.009930+00:00,1,1",
        "2024-05-10T02:00:02+02:00,1,1",
    ]
    text = "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows])
    assert columns(written(text))[0] == [0.0, 1.00993, 2.0]


@pytest.mark.shared
def test_the_whole_azure_trace_is_read(shared):
    requests = read_requests(shared / "data" / "traces" / "azure_llm_2023_conv.csv")
    assert len(requests) == 19_366
    assert requests.arrival_s[[0, -1]] == pytest.approx([0.0, 3501.721937])
    assert int(requests.prompt_tokens.sum()) == 22_361_870


@pytest.mark.shared
def test_every_public_length_file_is_read_whole(shared):
    files = sorted((shared / "data" / "traces").glob("lengths_*.csv"))
    assert len(files) >= 5
    for file in files:
        with open(file) as lines:
            n_rows = sum(1 for _ in lines) - 1
        prompt_tokens, output_tokens = read_lengths(file)
        assert len(prompt_tokens) == len(output_tokens) == n_rows


def test_lengths_are_read_from_a_length_file_and_from_a_trace():
    prompt_tokens, output_tokens = read_lengths(EXTRACTS / "lengths_sharegpt_head.csv")
    assert (prompt_tokens[:2].tolist(), output_tokens[:2].tolist()) == ([42, 19], [285, 82])
    assert prompt_tokens.dtype == np.int64
    assert read_lengths(AZURE)[0].tolist() == read_requests(AZURE).prompt_tokens.tolist()


def test_lengths_do_not_care_about_times_out_of_order(written):
    path = written("arrival_s,prompt_tokens,output_tokens\n5,1,2\n1,3,4\n")
    assert [column.tolist() for column in read_lengths(path)] == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN + "\n\n  \n",
        "\n" + PLAIN,
        PLAIN.replace("2.0", "\n2.0"),
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", " , "),
        PLAIN.replace("100", '"100"').replace("prompt_tokens", '"prompt_tokens"'),
        PLAIN.replace("100", "100.0"),
        PLAIN.replace("0.5", "5e-1"),
        PLAIN.replace("arrival_s", "Arrived at").replace("prompt_tokens", "Prompt-Tokens"),
        timed("timestamp_ms", "500", "2000"),
        timed("time_us", "500000", "2000000"),
        timed("time_ns", "1700000000000000001", "1700000001500000001"),
        timed("arrival_s", "1700000000.5", "1700000002.0"),
        timed("timestamp", "2024-02-28T23:59:59Z", "2024-02-29T00:00:00.5Z"),
        "note,arrival_s,note,prompt_tokens,output_tokens\na,0.5,,100,5\n\"b,\nc\",2.0,,20,1\n",
    ],
    ids=[
        *("as is", "no last line end", "blank lines at the end", "blank first line", "blank line between"),
        *("byte order mark", "CRLF", "CR", "semicolons", "tabs", "spaces", "quotes"),
        *("whole floats", "exponents"),
        *("other spelling", "ms", "us", "ns since 1970", "s since 1970", "dates", "other columns"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_same_two_requests_in_any_dress(written, content, packed):
    data = content.encode()
    path = written(gzip.compress(data) if packed else data, "trace.dat")
    assert columns(path) == ([0.0, 1.5], [100, 20], [5, 1])


@pytest.mark.parametrize(
    ("field", "name"), [(field, name) for field, names in plain.NAMES.items() for name in names]
)
def test_every_accepted_name_gives_its_quantity(written, field, name):
    header = {"arrival_s": "arrival_s", "prompt_tokens": "prompt_tokens", "output_tokens": "output_tokens"}
    header[field] = name
    rows = [["1"] * len(header), ["2"] * len(header)]
    requests = read_requests(written("\n".join(",".join(row) for row in [list(header.values()), *rows])))
    assert getattr(requests, field) is not None
    assert len(getattr(requests, field)) == 2


def test_the_table_of_names_in_the_documentation_is_complete():
    words = set((plain.__doc__ or "").replace(",", " ").replace(":", " ").split())
    names = {name for names in plain.NAMES.values() for name in names}
    units = tuple(stem + unit for stem in ("arrival", "arrival_time", "arrived_at", "timestamp", "time")
                  for unit in ("_s", "_ms", "_us", "_ns"))  # fmt: skip
    assert names - words == set(units)


def test_optional_columns_are_read(written):
    text = (
        "arrival_s,prompt_tokens,output_tokens,max_tokens,predicted_tokens,priority,client,ttft_slo_ms\n"
        "0,9,5,5,4.5,-1,12,250\n"
        "1,9,5,64,1e3,2,7,\n"
    )
    requests = read_requests(written(text))
    assert requests.max_output_tokens.tolist() == [5, 64]
    assert requests.predicted_output_tokens.tolist() == [4.5, 1000.0]
    assert requests.priority.tolist() == [-1, 2]
    assert requests.client.tolist() == [12, 7]
    assert requests.ttft_slo_s.tolist() == [0.25, np.inf]


def test_columns_that_are_not_there_stay_unset(written):
    requests = read_requests(written(PLAIN))
    assert requests.max_output_tokens is None
    assert requests.client is None


def test_named_clients_are_numbered_as_they_appear_across_blocks(written, monkeypatch):
    monkeypatch.setattr(_table, "BLOCK_ROWS", 2)
    names = ["bob", "ann", "ann", "7", "bob"]
    rows = [f"{i},1,1,{name}" for i, name in enumerate(names)]
    path = written("\n".join(["arrival_s,prompt_tokens,output_tokens,tenant", *rows]))
    assert read_requests(path).client.tolist() == [0, 1, 1, 2, 0]


def test_whole_seconds_less_than_a_minute_apart_are_believed(written):
    rows = "".join(f"{59 * i},1,1\n" for i in range(20))
    assert columns(written("arrival_s,prompt_tokens,output_tokens\n" + rows))[0][-1] == 59.0 * 19


def test_seconds_far_apart_are_believed_when_written_with_a_decimal_point(written):
    rows = "".join(f"{150 * i}.0,1,1\n" for i in range(20))
    assert columns(written("arrival_s,prompt_tokens,output_tokens\n" + rows))[0][-1] == 150.0 * 19


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_like_a_file(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(PLAIN,), daemon=True)
    writer.start()
    assert columns(path) == ([0.0, 1.5], [100, 20], [5, 1])
    writer.join()


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**7), st.integers(1, 10**7)), min_size=1),
    st.integers(1, 7),
)
def test_what_is_written_comes_back_whatever_the_size_of_a_block(tmp_path_factory, rows, block_rows):
    rows.sort(key=lambda row: row[0])
    path = tmp_path_factory.mktemp("trip") / "trace.csv"
    lines = ["arrival_us,prompt_tokens,output_tokens", *(f"{a},{p},{o}" for a, p, o in rows)]
    path.write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_table, "BLOCK_ROWS", block_rows)
        arrival_s, prompt_tokens, output_tokens = columns(path)
    assert arrival_s == [(a - rows[0][0]) / 1e6 for a, _, _ in rows]
    assert (prompt_tokens, output_tokens) == ([p for _, p, _ in rows], [o for _, _, o in rows])


def test_reader_names_are_short_and_differ():
    assert len(set(reader_names())) == len(reader_names()) == 4
