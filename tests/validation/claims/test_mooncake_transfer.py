"""The claim on transfers of keys and values: on the measured table, and on tables that say something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.claims import check_claims

NAME = "mooncake-transfers"
DATA = Path(__file__).parents[2] / "data" / "claims"
FILE = "benchmarks/mooncake_kv_transfer.csv"


def _with(tmp_path: Path, old: str, new: str) -> Path:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text((DATA / FILE).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return tmp_path


def test_on_the_measured_table_it_holds_and_all_but_two_rows_a_setup_are_foretold() -> None:
    (result,) = check_claims([NAME], data=DATA).results
    assert result.outcome == "passed"
    assert result.finding is not None
    assert len(result.finding.points) == 2 * 7
    assert "376 KiB a token (kept 2x)" in result.text()


@pytest.mark.parametrize(
    ("old", "new", "missed"),
    [
        ("8192,212.05,1157.12,8.84", "8192,212.05,1157.12,12.84", "seconds of the transfers"),
        ("8192,212.05,1157.12,8.84", "8192,212.05,2157.12,8.84", "bytes of a prompt"),
        ("128,46.09,20.0,0.54", "128,4.09,20.0,0.54", "less than a tenth"),
    ],
)
def test_what_does_not_fit_is_missed(tmp_path: Path, old: str, new: str, missed: str) -> None:
    (result,) = check_claims([NAME], data=_with(tmp_path, old, new)).results
    assert result.outcome == "failed"
    assert any("MISSED" in line and missed in line for line in result.text().splitlines())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Qwen3-8B", "a model", "names no model"),
        ("Qwen3-8B", "Qwen9-8B", "qwen9-8b"),
        ("46.09", "none", "line 2: ttft_mean_ms: 'none' is not a number"),
        ("46.09", "0", "line 2: tokens, times and sizes must be > 0"),
        ("prompt_tokens", "prompt", "no column 'prompt_tokens'"),
    ],
)
def test_wrong_tables_are_refused_in_a_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_claims([NAME], data=_with(tmp_path, old, new))
    assert said in str(caught.value)


def test_two_lengths_are_too_few(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text("".join((DATA / FILE).read_text(encoding="utf-8").splitlines(keepends=True)[:3]))
    with pytest.raises(ConfigError, match="at least three prompts"):
        check_claims([NAME], data=tmp_path)
