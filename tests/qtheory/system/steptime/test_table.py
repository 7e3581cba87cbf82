"""Step times interpolated in measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad, Table, read_table

FIELDS: dict[str, Any] = {
    "prefill_tokens": (10, 20, 40),
    "prefill_s": (0.01, 0.02, 0.06),
    "decode_context_tokens": (0, 100, 300),
    "mean_context_tokens": (10, 30),
    "decode_s": ((0.1, 0.2), (0.3, 0.4), (0.5, 0.9)),
}
TABLE = Table(**FIELDS)
CSV = """table,tokens,mean_context,ms
prefill,10,,10
prefill,20,,20
decode,0,10,100
decode,0,30,200
decode,100,10,300
decode,100,30,400
"""


def decodes(n: int, context: int) -> StepLoad:
    return StepLoad(n_decodes=n, decode_context_tokens=context, n_sampled=n)


def prompt(n: int) -> StepLoad:
    return StepLoad(prefill_tokens=n, prefill_context_tokens=n)


@pytest.mark.parametrize(
    ("load", "seconds"),
    [
        (prompt(10), 0.01),
        (prompt(40), 0.06),
        (prompt(30), 0.04),
        (decodes(10, 100), 0.3),
        (decodes(10, 300), 0.9),
        (decodes(10, 200), 0.5 * (0.35 + 0.7)),
        (decodes(5, 100)._replace(prefill_tokens=20), 0.02 + 0.35),
    ],
)
def test_measurements_are_met_and_joined_by_straight_lines(load: StepLoad, seconds: float) -> None:
    assert TABLE.step_s(load) == pytest.approx(seconds)


@given(st.integers(10, 40), st.integers(4, 10))
def test_interpolated_times_stay_between_the_measured_ones(n: int, batch: int) -> None:
    assert 0.01 <= TABLE.step_s(prompt(n)) <= 0.06
    assert 0.3 <= TABLE.step_s(decodes(batch, 120)) <= 0.9


def test_a_table_is_not_a_line() -> None:
    assert TABLE.decode_line(4) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (prompt(41), r"prefill_tokens: 41 is outside the measured 10 \.\. 40"),
        (prompt(9), "prefill_tokens: 9 is outside"),
        (decodes(20, 301), r"decode_context_tokens: 301 is outside the measured 0 \.\. 300"),
        (decodes(1, 31), r"mean_context_tokens: 31 is outside the measured 10 \.\. 30"),
    ],
)
def test_a_load_outside_the_measurements_is_refused_or_held(load: StepLoad, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TABLE.step_s(load)
    held = replace(TABLE, outside="hold")
    assert 0.01 <= held.step_s(load) <= 0.9


def test_held_times_are_those_of_the_border() -> None:
    held = replace(TABLE, outside="hold")
    assert held.step_s(prompt(1000)) == TABLE.step_s(prompt(40))
    assert held.step_s(prompt(1)) == TABLE.step_s(prompt(10))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prefill_tokens": (10, 10, 40)}, "prefill_tokens: needs two or more rising"),
        ({"prefill_tokens": (10,), "prefill_s": (0.1,)}, "prefill_tokens: needs two or more rising"),
        ({"prefill_s": (0.1, 0.2)}, "prefill_s: 2 values for 3 points"),
        ({"prefill_s": (0.1, 0.2, 0.0)}, "prefill_s: 0 is outside"),
        ({"prefill_s": (0.1, 0.2, float("nan"))}, "prefill_s: nan"),
        ({"decode_s": ((0.1, 0.2), (0.3, 0.4))}, "decode_s: 2 rows for 3 summed contexts"),
        ({"decode_s": ((0.1, 0.2), (0.3,), (0.5, 0.9))}, r"decode_s\[1\]: 1 values for 2 points"),
        ({"outside": "clip"}, "outside: unknown 'clip'"),
    ],
)
def test_tables_with_holes_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Table(**FIELDS | change)


def test_a_file_is_read_in_any_order_of_rows(tmp_path: Path) -> None:
    head, *rows = CSV.splitlines()
    path = tmp_path / "steps.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([head, *reversed(rows)]).encode())
    table = read_table(path)
    assert table.step_s(prompt(15)) == pytest.approx(0.015)
    assert table.step_s(decodes(5, 100)) == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty; give a CSV table of table, tokens, mean_context, ms"),
        (CSV.splitlines()[0], "needs two or more rising"),
        (CSV.replace("mean_context", "mean"), "line 2: mean_context: missing"),
        (CSV.replace("prefill,20,,20", "prefill,many,,20"), "line 3: tokens: 'many' is not a number"),
        (CSV.replace("prefill,20,,20", "prefil,20,,20"), r"line 3: table: unknown 'prefil' \(did you mean"),
        (CSV.replace("decode,100,30,400\n", ""), "decode: no row with tokens=100, mean_context=30"),
        (CSV.replace(",400", ",-4"), "decode_s.1.: -0.004"),
    ],
)
def test_a_faulty_file_is_refused_with_its_place(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_table(tmp_path / "none.csv")


@pytest.mark.shared
def test_a_published_table_is_met_at_its_measurements(shared: Path) -> None:
    table = read_table(shared / "data/peer_des/service_times.csv")
    assert table.step_s(prompt(128)) == pytest.approx(7.61485e-3)
    assert table.step_s(prompt(16384)) == pytest.approx(440.218e-3)
    assert table.step_s(decodes(1, 512)) == pytest.approx(6.16795e-3)
