"""Bad files: one line of error that names file, line, column and value, and says what is allowed."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.readers import _table, read_lengths, read_requests

HEAD = "arrival_s,prompt_tokens,output_tokens\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
MINUTES = "".join(f"{150 * i},9,9\n" for i in range(10))

# name of the case: (content, what the message says after the name of the file)
FAULTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "blank": ("\n \n", "is empty"),
    "header only": (HEAD, "line 1: column names, but no rows below them"),
    "header and blanks": (HEAD + "\n\n", "line 1: column names, but no rows"),
    "no header": ("0,9,9\n1,9,9\n", "line 1: '0,9,9' are values, not column names; put a line such as"),
    "missing column": ("arrival_s,prompt_tokens\n0,9\n", "line 1: no column for output_tokens; found"),
    "misspelt column": (HEAD.replace("output_t", "ouput_t") + "0,9,9\n", "(is 'ouput_tokens' meant as"),
    "no times": ("input_tokens,output_tokens\n9,9\n", "line 1: no column for arrival_s; found"),
    "misspelt times": (HEAD.replace("arr", "ar") + "0,9,9\n", "arrival_s (is 'arival_s' meant as"),
    "unknown": ("a,b\n0,9\n", "line 1: unknown format; found a, b; known are azure (TIMESTAMP,"),
    "two of a kind": ("arrival_s,input_tokens,prompt_tokens,output_tokens\n0,9,9,9\n",
                      "line 1: 'input_tokens' (column 2) and 'prompt_tokens' (column 3) mean the same;"),
    "duplicate": ("time,time,prompt_tokens,output_tokens\n0,0,9,9\n", "line 1: 'time' (column 1) and"),
    "azure duplicate": (AZURE.replace("TIME", "TIMESTAMP,TIME") + "a,a,9,9\n", "line 1: 'TIMESTAMP'"),
    "word": (HEAD + "0,9,9\n1,9,many\n", "line 3: output_tokens: 'many' is not a number; give a whole"),
    "no value": (HEAD + "0,,9\n", "line 2: prompt_tokens: '' is empty; give a whole number in 1 .."),
    "NaN": (HEAD + "0,NaN,9\n", "line 2: prompt_tokens: 'NaN' is not a number; give"),
    "infinite": (HEAD + "0,9,inf\n", "line 2: output_tokens: 'inf' is not a number; give"),
    "too many digits": (HEAD + "0,1e999,9\n", "line 2: prompt_tokens: '1e999' is not a finite number; give"),
    "long number": (HEAD + f"0,{'9' * 5000},9\n", "is not a finite number; give"),
    "negative": (HEAD + "0,-4,9\n", "line 2: prompt_tokens: '-4' is too small; give a whole number in 1 .."),
    "zero": (HEAD + "0,9,0\n", "line 2: output_tokens: '0' is too small; give"),
    "huge": (HEAD + "0,9,9\n0,10000001,9\n", "line 3: prompt_tokens: '10000001' is too large; give"),
    "half a token": (HEAD + "0,9.5,9\n", "line 2: prompt_tokens: '9.5' is not whole; give"),
    "underscore": (HEAD + "0,1_000,9\n", "line 2: prompt_tokens: '1_000' is not a number; give"),
    "thousands": (HEAD + '0,"1,000",9\n', "line 2: prompt_tokens: '1,000' has a decimal comma, write a"),
    "decimal comma": (HEAD + "0,5,9,9\n", "line 2: '0,5,9,9' has 4 values for 3 columns; a decimal comma?"),
    "quoted decimal comma": (HEAD + '"0,5",9,9\n', "line 2: arrival_s: '0,5' has a decimal comma, write a"),
    "semicolons": (HEAD.replace(",", ";") + "0,5;9;9\n", "line 2: arrival_s: '0,5' has a decimal comma,"),
    "cut last row": (HEAD + "0,9,9\n1,9", "line 3: '1,9' has 2 values for 3 columns; cut short? complete it"),
    "cut azure row": (AZURE + "2023-11-16 18:15:46.6805900,9,9\n2023-11", "line 3: '2023-11' has 1 value"),
    "open quote": (HEAD + '0,"9,9\n', "line 2: not CSV (unexpected end of data); check the quotes"),
    "open quote in header": ('"a,b\n0,9\n', "line 1: not CSV"),
    "unsorted": (HEAD + "0,9,9\n2,9,9\n1,9,9\n", "line 4: arrival_s: '1' is before the row above it; sort"),
    "unsorted dates": (AZURE + "2023-11-16 18:15:46.1,9,9\n2023-11-16 18:15:46.0,9,9\n",
                       "line 3: TIMESTAMP: '2023-11-16 18:15:46.0' is before the row above it; sort the"),
    "negative time": (HEAD + "-1,9,9\n", "line 2: arrival_s: '-1' is before the start; give a number of"),
    "time is NaN": (HEAD + "nan,9,9\n", "line 2: arrival_s: 'nan' is not a number; give a number of"),
    "time is a word": (HEAD.replace("l_s", "l_ms") + "now,9,9\n",
                       "line 2: arrival_ms: 'now' is not a number; give a number >= 0 (1,000 are a second)"),
    "date in seconds": (HEAD + "2023-11-16 18:15:46,9,9\n", "line 2: arrival_s: '2023-11-16 18:15:46' is"),
    "ms since 1970": (HEAD + "1700000000000,9,9\n", "line 2: arrival_s: '1700000000000' cannot be seconds;"),
    "ns since 1970": (HEAD + "1700000000000000000.5,9,9\n", "cannot be seconds; name the column"),
    "ns said to be ms": (HEAD.replace("l_s", "l_ms") + "1700000000000000000,9,9\n", "is too large for a"),
    "milliseconds": (HEAD + MINUTES, "arrival_s: whole numbers, on average 150 apart, look like"),
    "date mixed with numbers": (HEAD.replace("_s", "", 1) + "2023-11-16 18:15:46,9,9\n7,9,9\n", "line 3:"),
    "azure number": (AZURE + "12.5,9,9\n", "line 2: TIMESTAMP: '12.5' is not a date and time; write it as"),
    "azure day": (AZURE + "2023-11-16 18:15:46,9,9\n2023-02-30 18:15:46,9,9\n", "line 3: TIMESTAMP: '2023"),
    "azure year": (AZURE + "0023-11-16 18:15:46,9,9\n", "line 2: TIMESTAMP: '0023-11-16 18:15:46' is not a"),
    "azure zone": (AZURE + "2023-11-16 18:15:46+99:00,9,9\n", "line 2: TIMESTAMP: '2023-11-16"),
    "priority": (HEAD[:-1] + ",priority\n0,9,9,high\n", "line 2: priority: 'high' is not a number; give a"),
    "client": (HEAD[:-1] + ",client\n0,9,9,\n", "line 2: client: '' is empty; give the number or the name"),
    "limit": (HEAD[:-1] + ",ttft_slo_s\n0,9,9,0\n", "line 2: ttft_slo_s: '0' is too small; give a number"),
    "prediction": (HEAD[:-1] + ",predicted_tokens\n0,9,9,\n", "line 2: predicted_tokens: '' is empty; give"),
    "longer than its most": (HEAD[:-1] + ",max_tokens\n0,9,9,9\n0,9,9,8\n", "line 3: max_tokens: '8' is"),
    "after a blank line": (HEAD + "0,9,9\n\n1,9,x\n", "line 4: output_tokens: 'x'"),
    "after a field of two lines": ("note," + HEAD + '"a\nb",0,9,9\n,1,9,x\n', "line 4: output_tokens: 'x'"),
    "after a late header": ("\n" + HEAD + "0,9,x\n", "line 3: output_tokens: 'x'"),
    "JSON lines": ('{"timestamp": 0, "input_length": 9}\n', "line 1: no column for output_tokens; found"),
    "packed JSON lines": (gzip.compress(b'{"timestamp": 0}\n'), "line 1: no column for prompt_tokens and"),
    "zeros": (b"\x00\x01\x02\x03" * 100, "not a text file (byte 0 is zero)"),
    "binary": (bytes(range(200, 256)) * 50, "not a text file (byte 0xc8 is not UTF-8)"),
    "binary in a row": (HEAD.encode() + b"0,9,9\n\xff\xfe,9,9\n", "not a text file (byte 0xff is not UTF-8)"),
    "UTF-16": (HEAD.encode("utf-16"), "UTF-16 text; save it as UTF-8"),
    "workbook": (b"PK\x03\x04 and more", "a zip archive or a workbook; save the table in it as CSV"),
    "cut gzip": (gzip.compress((HEAD + "0,9,9\n" * 5000).encode())[:-20], "gzip data cut short or damaged;"),
    "gzip of no bytes": (gzip.compress(b""), "is empty"),
    "gzip header alone": (b"\x1f\x8b\x08", "gzip data cut short or damaged"),
    "damaged gzip": (b"\x1f\x8b" + b"rubbish" * 30, "gzip data cut short or damaged"),
    "one long line": ("x" * 200_000, "line 1: more than 100,000 characters; not a table"),
    "one long row": (HEAD + "0,9,9\n" + "1," * 700_000, "line 3: more than 1,000,000 characters; one row"),
    "packed long row": (gzip.compress((HEAD + "9" * 9_000_000).encode()), "line 2: more than 1,000,000 char"),
    "long field": (HEAD + "0,9," + "9" * 200_000, "line 2: not CSV (field larger than field limit"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_bad_file_is_refused_with_one_line_that_says_where_and_why(tmp_path, case):
    content, said = FAULTS[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        read_requests(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400


def test_a_missing_file_is_named_with_its_neighbour(tmp_path):
    (tmp_path / "azure_2023.csv").write_text(HEAD)
    with pytest.raises(ConfigError, match=re.escape("no such file (did you mean 'azure_2023.csv'?)")):
        read_requests(tmp_path / "azure2023.csv")


def test_a_missing_folder_is_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"no such file$"):
        read_requests(tmp_path / "none" / "trace.csv")


def test_a_folder_is_not_a_trace(tmp_path):
    with pytest.raises(ConfigError, match="is a folder; give the name of a file"):
        read_requests(tmp_path)


def test_a_file_name_with_a_zero_byte_is_refused():
    with pytest.raises(ConfigError, match="zero byte"):
        read_requests("a\0b")


def test_faults_in_lengths_are_named_as_in_traces(tmp_path):
    path = tmp_path / "lengths.csv"
    path.write_text("input_tokens,output_tokens\n5,5\n5,0\n")
    with pytest.raises(ConfigError, match="line 3: output_tokens: '0' is too small"):
        read_lengths(path)


@pytest.mark.parametrize("row", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("block_rows", [1, 2, 3, 100])
def test_the_line_is_right_in_every_block(tmp_path, monkeypatch, row, block_rows):
    monkeypatch.setattr(_table, "BLOCK_ROWS", block_rows)
    lines = [f'"one\ntwo",{i},9,9\n' for i in range(8)]
    for broken in (f",{row},9,x\n", f",{row - 2},9,9\n" if row > 1 else ",-1,9,9\n"):
        path: Path = tmp_path / "trace.csv"
        path.write_text("note," + HEAD + "".join([*lines[:row], broken, *lines[row + 1 :]]))
        with pytest.raises(ConfigError, match=f": line {2 + 2 * row}: "):
            read_requests(path)


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_lead_to_anything_but_requests_or_one_line_of_error(tmp_path_factory, tail, packed):
    path = tmp_path_factory.mktemp("bytes") / "trace.csv"
    content = HEAD.encode() + tail
    path.write_bytes(gzip.compress(content) if packed else content)
    try:
        assert len(read_requests(path)) >= 1
    except ConfigError as error:
        assert "\n" not in str(error)  # noqa: PT017


@given(st.text(alphabet='0123456789.,;-:eE+TZ \n\r\t"nai', max_size=60))
def test_no_text_leads_to_anything_but_requests_or_one_line_of_error(tmp_path_factory, tail):
    path = tmp_path_factory.mktemp("text") / "trace.csv"
    path.write_text(HEAD.replace("_s", "", 1) + tail, newline="")
    try:
        assert len(read_requests(path)) >= 1
    except ConfigError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("name", ["y" * 300, "x" * 5000, "\ud800"])
def test_names_that_no_file_can_have_are_refused_in_one_short_line(name):
    with pytest.raises(ConfigError, match=r"File name too long|is half a character") as caught:
        read_requests(name)
    assert len(str(caught.value)) < 300


def test_only_a_close_name_is_offered(tmp_path):
    (tmp_path / "one.py").write_text("")
    with pytest.raises(ConfigError, match=r"no such file$"):
        read_requests(tmp_path / "none.csv")
