"""The library against tables of known values, and the checker against bad tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Lognormal
from qtheory.queues.priority import SRPT
from validation.oracles import check_oracles
from validation.oracles._vocabulary import require_quantity
from validation.oracles.checker import known_models

EXTRACT = Path(__file__).resolve().parents[2] / "data" / "oracles" / "known_values.csv"
HEADER = "id,model,parameters,quantity,value,rtol\n"
PARAMETERS = '"{""lam"": 0.5, ""mu"": 1.0}"'
ROW = 'a,M/M/1,"{""lam"": 0.5, ""mu"": 1.0}",mean_wait,1,1e-8\n'

BAD_TABLES = [
    ("", "is empty"),
    (" \n", "is empty"),
    (HEADER, "has no row"),
    (HEADER.replace("rtol", "rtoll") + ROW, "column 'rtol' is missing (did you mean 'rtoll'?)"),
    (HEADER + ROW.replace("1e-8", "small"), "line 2: rtol: 'small' is not a number"),
    (HEADER + ROW.replace(",1,", ",one,"), "line 2: value: 'one' is not a number"),
    (HEADER + ROW.replace(",1,", ",nan,"), "line 2: value: 'nan' must be finite"),
    (HEADER + ROW.replace(",1,", ",1e999,"), "line 2: value: '1e999' must be finite"),
    (HEADER + ROW.replace("{", "["), "line 2: parameters: "),
    (HEADER + ROW.replace("0.5", "NaN"), "line 2: parameters: NaN is not a number of JSON"),
    (HEADER + 'a,M/M/1,"[1]",mean_wait,1,1e-8\n', "must be a JSON object"),
    (HEADER + ROW + "b,M/M/1\n", "line 3: has fewer columns"),
    (HEADER + ROW.replace('"{""', "{").replace('}"', "}"), "line 2: has more columns"),
    (HEADER + ROW.replace("1e-8", "-1"), "rtol: -1 must be >= 0"),
    (
        HEADER + ROW.replace("mean_wait", "mean_weight"),
        "'mean_weight' is not known (did you mean 'mean_wait'?)",
    ),
    (HEADER + "x" * 200_000 + ROW, "is not CSV"),
]

# the residual integral of this value starts at the 1e-14 quantile, 2.7246567e-05 s, instead of at 0
TABLE_ERRORS = {"size.05.mean_response": 1.80201490984998}


def test_every_model_meets_some_known_values() -> None:
    results = check_oracles(EXTRACT)
    assert results.is_good, results.text()
    assert results.n_passed > 200
    assert {model.model for model in results.models} <= set(known_models())


@pytest.mark.shared
def test_every_known_value_is_met(shared: Path) -> None:
    results = check_oracles(shared / "data" / "oracles" / "queueing_oracles.csv")
    assert {row.id for row in results.failures} == set(TABLE_ERRORS), results.text()
    for row in results.failures:
        assert row.found == pytest.approx(TABLE_ERRORS[row.id], rel=1e-12)
    assert results.n_passed == 882


def test_the_wrong_value_of_the_table_is_short_by_its_lower_cut() -> None:
    law = Lognormal(mean=1.0, cv=2.0)
    found = SRPT(rate_rps=0.7, service=law).solve().mean_response_s
    assert found - 1.80198766328286 == pytest.approx(float(law.ppf(1e-14)), rel=1e-6)


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wrong_value_fails_with_its_error(tmp_path: Path) -> None:
    results = check_oracles(table(tmp_path, HEADER + ROW + ROW.replace("a,", "b,").replace(",1,", ",1.1,")))
    assert (results.n_passed, results.n_failed, results.is_good) == (1, 1, False)
    assert results.closing_line() == "1 passed, 1 failed"
    assert results.models[0].worst_relative_error == pytest.approx(0.1 / 1.1)
    assert "b: mean_wait is 1, not 1.1 (relative error 0.091, allowed 1e-08)" in results.text()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ROW.replace("M/M/1", "M/E_k-1"), "unknown model (did you mean 'M/E_k/1'?)"),
        (ROW.replace("mean_wait", "mean_slowdown"), "'mean_slowdown' is not in the answer of MM1Result"),
        (ROW.replace("lam", "lambda"), "'lam' is missing"),
        (ROW.replace("0.5", "1.5"), "lower the rate"),
        (ROW.replace(PARAMETERS, '"{""lam"": ""x"", ""mu"": 1}"'), "is not a number"),
        (ROW.replace(PARAMETERS, '"{""lam"": 0.5, ""mu"": [1]}"'), "TypeError"),
        (ROW.replace(PARAMETERS, '"{""lam"": 0.5, ""mu"": 0}"'), "ZeroDivisionError"),
        (ROW.replace("mean_wait", "tail_wait"), "'t' is missing"),
        (ROW.replace("mean_wait", "tail_wait").replace("}", ', ""t"": ""1""}'), "t: '1' is not a number"),
    ],
)
def test_what_cannot_be_answered_is_a_failure_with_a_reason(tmp_path: Path, row: str, reason: str) -> None:
    results = check_oracles(table(tmp_path, HEADER + row + ROW))
    assert (results.n_passed, results.n_failed) == (1, 1)
    assert results.failures[0].found is None
    assert reason in results.failures[0].reason
    assert "\n" not in results.failures[0].reason


@pytest.mark.parametrize(("text", "message"), BAD_TABLES)
def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_oracles(table(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        check_oracles(tmp_path)
    binary = tmp_path / "table.csv"
    binary.write_bytes(b"\xff\xfe\x00\x80" * 9)
    with pytest.raises(ConfigError, match="not a text file"):
        check_oracles(binary)


def test_a_byte_order_mark_windows_line_ends_and_more_columns_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (HEADER + ROW).replace("\n", "\r\n").encode())
    assert check_oracles(path).n_passed == 1
    more = HEADER.replace("\n", ",source\n") + ROW.replace("\n", ',"two, ways"\n')
    assert check_oracles(table(tmp_path, more)).n_passed == 1


def test_the_extract_has_rows_of_every_model() -> None:
    with EXTRACT.open(encoding="utf-8") as file:
        models = {row["model"] for row in csv.DictReader(file)}
    assert models == set(known_models())


@pytest.mark.parametrize(
    "name",
    ["p99.9_wait", "p75_response", "mean_wait_class12", "mean_number_station1", "tail_wait_served"],
)
def test_names_of_quantities_are_written_alike_for_any_level_class_and_station(name: str) -> None:
    require_quantity("row", name)


@pytest.mark.parametrize("name", ["p100_wait", "p0_wait", "mean_wait_class0", "mean_wait_class", "p99", ""])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not known"):
        require_quantity("row", name)
