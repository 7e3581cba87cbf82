"""Damaged files: cut off, renamed keys, other units, nonsense in a cell. One line each, or the truth."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.validation.readers.formats import (
    FILES,
    JSON,
    ONE_OBJECT,
    TABLES,
    at,
    edited,
    numbers,
    outcome,
    paths,
    scaled_json,
    scaled_lines,
    scaled_table,
    text_of,
)
from validation.readers import BenchPoint, EngineRun

ODD = [None, "x", "", [], {}, [1], {"a": 1}, -1, 0, True, 1e308, "inf", "nan", "1,5", [[]], "\n"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "result.dat"


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_known_by_its_content_whatever_its_name(name: str, place: Path) -> None:
    found = outcome(place, text_of(name))
    assert not isinstance(found, str), found
    assert isinstance(found, EngineRun) == (name == "engine_requests.csv")


@pytest.mark.parametrize("name", ONE_OBJECT)
@given(data=st.data())
def test_json_that_is_cut_off_is_refused_as_such(name: str, place: Path, data: st.DataObject) -> None:
    text = text_of(name).rstrip()
    found = outcome(place, text[: data.draw(st.integers(1, len(text) - 1))])
    assert isinstance(found, str)
    assert "cut off" in found


@pytest.mark.parametrize("name", [name for name in FILES if name not in ONE_OBJECT])
@given(data=st.data())
def test_a_cut_table_gives_no_more_than_its_whole_rows(name: str, place: Path, data: st.DataObject) -> None:
    """A row that lacks its end is refused, or noted where nobody can know whether it has one."""
    text = text_of(name)
    whole = outcome(place, text)
    found = outcome(place, text[: data.draw(st.integers(1, len(text) - 1))])
    if isinstance(found, str):
        return
    if isinstance(found, EngineRun) or isinstance(whole, EngineRun):
        assert isinstance(found, EngineRun)
        assert isinstance(whole, EngineRun)
        assert len(found.arrival_s) <= len(whole.arrival_s)
        return
    assert not isinstance(whole, str)
    for before, after in zip(whole, found[:-1], strict=False):
        assert numbers(before) == numbers(after)


@pytest.mark.parametrize("name", TABLES)
def test_a_last_row_without_its_end_is_noted(name: str, place: Path) -> None:
    found = outcome(place, text_of(name).rstrip()[:-1])
    assert not isinstance(found, str)
    notes = found.notes if isinstance(found, EngineRun) else found[-1].notes
    assert any("cut off" in note for note in notes)


@pytest.mark.parametrize("name", ["vllm_metrics.txt", "mlperf_log_summary.txt"])
@given(data=st.data())
def test_a_page_that_is_cut_off_is_refused(name: str, place: Path, data: st.DataObject) -> None:
    text = text_of(name)
    last = text.rstrip().rfind("\n")  # what the last line lacks, nobody needs
    assert isinstance(outcome(place, text[: data.draw(st.integers(1, last))]), str)


def asks(point: BenchPoint) -> dict[str, str]:
    """What a point says of its load if that is not told: then the caller must say it."""
    unknown = {name: repr(getattr(point, name)) for name in ("rate_rps", "in_flight", "arrival_cv")}
    return unknown if point.rate_rps is None and not point.in_flight else {}


def _renamed(data: Any, path: tuple[Any, ...]) -> Any:
    holder = at(data, path[:-1])
    for key in list(holder):  # the order of the keys stays
        holder[f"{key}_x" if key == path[-1] else key] = holder.pop(key)
    return data


@pytest.mark.parametrize("name", JSON)
def test_a_renamed_key_is_refused_or_was_not_read(name: str, place: Path) -> None:
    text = text_of(name)
    whole = outcome(place, text)
    assert isinstance(whole, list)
    lines = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
    for path in [path for path in paths(lines) if isinstance(path[-1], str)]:
        found = outcome(place, edited(text, lambda data, path=path: _renamed(data, path)))  # type: ignore[misc]
        if not isinstance(found, str):
            assert isinstance(found, list)
            for before, after in zip(whole, found, strict=True):
                assert numbers(after) == (numbers(before) | asks(after)), path


@pytest.mark.parametrize("name", TABLES)
def test_a_renamed_column_is_refused_or_was_not_read(name: str, place: Path) -> None:
    head, _, rest = text_of(name).partition("\n")
    whole = outcome(place, text_of(name))
    for column in head.split(","):
        if column in ("queued_s", "load"):  # another clock is allowed; without a load it is no sweep table
            continue
        found = outcome(place, f"{head.replace(column, column + '_x', 1)}\n{rest}")
        if isinstance(found, EngineRun):
            assert isinstance(whole, EngineRun)
            assert found.first_token_s.tolist() == whole.first_token_s.tolist(), column
        elif not isinstance(found, str):
            assert isinstance(whole, list)
            assert list(map(numbers, found)) == list(map(numbers, whole)), column


UNITS = [
    ("vllm_bench_serve.json", "ttft", 1e3),
    ("vllm_bench_serve.json", "tpot", 1e3),
    ("vllm_bench_serve.json", "tpot", 1e-3),
    ("vllm_bench_serve.json", "duration", 1e3),
    ("vllm_bench_serve.json", "duration", 1e-3),
    ("sglang_bench_serving.jsonl", "e2e", 1e3),
    ("sglang_bench_serving.jsonl", "ttft", 1e3),
    ("sglang_bench_serving.jsonl", "duration", 1e-3),
    ("guidellm_report_v2.json", "time_to_first_token_ms", 1e3),
    ("guidellm_report_v2.json", "inter_token_latency_ms", 1e3),
    ("guidellm_report_v2.json", "request_latency", 1e3),
    ("inference_perf_stage_lifecycle_metrics.json", "time_to_first_token", 1e3),
    ("inference_perf_stage_lifecycle_metrics.json", "request_latency", 1e3),
    ("inference_perf_stage_lifecycle_metrics.json", "requests_per_sec", 1e3),
    ("llmperf_summary.json", "ttft", 1e3),
    ("llmperf_summary.json", "ttft", 1e-3),
    ("llmperf_summary.json", "end_to_end", 1e3),
    ("llmperf_individual.json", "ttft", 1e3),
    ("llmperf_individual.json", "end_to_end", 1e3),
    ("aiperf_profile_export.jsonl", "time_to_first_token", 1e3),
    ("aiperf_profile_export.jsonl", "inter_token_latency", 1e3),
    ("aiperf_profile_export.jsonl", "request_latency", 1e3),
    ("sweep.csv", "ttft", 1e3),
    ("sweep.csv", "tpot_from_e2e", 1e3),
    ("sweep.csv", "e2e_", 1e3),
    ("sweep.csv", "req_tput", 1e3),
    ("multi_round_qa.csv", "ttft", 1e3),
    ("multi_round_qa.csv", "generation_time", 1e3),
    ("engine_requests.csv", "first_token_s", 1e3),
    ("engine_requests.csv", "scheduled_s", 1e3),
    ("engine_requests.csv", "arrival_s", 1e3),
    ("engine_requests.csv", "last_token_s", 1e3),
    ("vllm_metrics.txt", "time_to_first_token_seconds_sum", 1e3),
    ("vllm_metrics.txt", "request_time_per_output_token_seconds_sum", 1e3),
    ("vllm_metrics.txt", "e2e_request_latency_seconds_sum", 1e3),
    ("mlperf_log_summary.txt", "Mean First Token latency", 1e3),
    ("mlperf_log_summary.txt", "Mean Time to Output Token", 1e3),
    ("mlperf_log_summary.txt", "Mean latency", 1e3),
    ("mlperf_log_summary.txt", "Mean latency", 1e-3),
]


@pytest.mark.parametrize(("name", "word", "factor"), UNITS)
def test_one_quantity_in_another_unit_is_refused(name: str, word: str, factor: float, place: Path) -> None:
    scale = scaled_json if name in JSON else scaled_lines if name.endswith(".txt") else scaled_table
    found = outcome(place, scale(text_of(name), word, factor))
    assert isinstance(found, str), found
    assert "unit" in found or "clock" in found


@pytest.mark.parametrize("name", JSON)
@given(data=st.data())
def test_nonsense_anywhere_in_json_is_one_line_or_harmless(
    name: str, place: Path, data: st.DataObject
) -> None:
    odd = data.draw(st.sampled_from(ODD))

    def change(read: Any) -> Any:
        path = data.draw(st.sampled_from(list(paths(read))))
        at(read, path[:-1])[path[-1]] = odd
        return read

    outcome(place, edited(text_of(name), change))


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".csv")])
@given(data=st.data())
def test_nonsense_in_any_cell_is_one_line_or_harmless(name: str, place: Path, data: st.DataObject) -> None:
    rows = list(csv.reader(io.StringIO(text_of(name))))
    row = data.draw(st.sampled_from([row for row in rows if row]))
    row[data.draw(st.integers(0, len(row) - 1))] = data.draw(
        st.sampled_from(["", "x", "-1", "1e308", '"', "nan"])
    )
    outcome(place, "\n".join(map(",".join, rows)) + "\n")


@pytest.mark.parametrize("name", ["vllm_metrics.txt", "mlperf_log_summary.txt"])
@given(data=st.data())
def test_nonsense_in_any_line_is_one_line_or_harmless(name: str, place: Path, data: st.DataObject) -> None:
    lines = text_of(name).splitlines()
    i = data.draw(st.integers(0, len(lines) - 1))
    lines[i] = data.draw(
        st.sampled_from(["", "x", lines[i].rpartition(" ")[0] + " -1", lines[i] + " y z", "{"])
    )
    outcome(place, "\n".join(lines) + "\n")
