"""Aligned text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.report import human, pairs, table

ROWS = [
    {"scheduler": "fcfs", "goodput_frac": 0.4, "p99_tpot_s": 0.4478, "n_shed": 0},
    {"scheduler": "chunked", "goodput_frac": 1.0, "p99_tpot_s": None, "n_shed": 12345},
]


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    lines = table(ROWS).splitlines()
    assert lines[0] == "scheduler  goodput (%)  p99 TPOT (s)    shed"
    assert lines[1] == "fcfs              40.0        0.4478       0"
    assert lines[2] == "chunked          100.0             -  12,345"


def test_columns_are_chosen_and_ordered_and_unknown_ones_left_out() -> None:
    lines = table(ROWS, ["p99_tpot_s", "no_such_s", "scheduler"]).splitlines()
    assert lines[0].split() == ["p99", "TPOT", "(s)", "scheduler"]


def test_labels_replace_headers() -> None:
    assert table(ROWS, ["scheduler"], labels={"scheduler": "policy"}).splitlines()[0] == "policy"


def test_nothing_makes_no_text() -> None:
    assert table([]) == ""
    assert table(ROWS, ["no_such_s"]) == ""
    assert pairs({}) == ""


CELLS = st.one_of(st.none(), st.integers(), st.floats(), st.text("abc d", max_size=8), st.booleans())


@given(st.lists(st.dictionaries(st.sampled_from(["a_s", "b_frac", "c"]), CELLS, min_size=1), min_size=1))
def test_every_table_has_a_header_and_a_line_a_row_of_one_width(rows: list[dict[str, object]]) -> None:
    lines = table(rows).split("\n")
    assert len(lines) == len(rows) + 1
    assert "nan" not in "".join(lines)
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("step_s", 4.6e-5, "46 us"),
        ("step_s", 12.0, "12 s"),
        ("step_s", 0.0, "0 s"),
        ("bandwidth_bytes_per_s", 168e9, "168 GB/s"),
        ("peak_bf16_flops_per_s", 13.3e12, "13.3 TFLOP/s"),
        ("kv_bytes", 512, "512 B"),
        ("budget_tokens", 2048, "2048 tokens"),
        ("p99_tpot_s", None, "-"),
        ("p99_tpot_s", float("nan"), "-"),
        ("source", "datasheet", "datasheet"),
        ("layers", 32, "32"),
    ],
)
def test_a_value_is_shown_with_a_unit_that_keeps_it_short(name: str, value: object, shown: str) -> None:
    assert human(name, value) == shown


def test_pairs_stand_one_a_line() -> None:
    assert pairs({"hardware": "a100", "memory_frac": 0.9}) == "hardware   a100\nmemory     90.0 %"
