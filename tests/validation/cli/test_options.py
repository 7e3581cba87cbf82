"""Flags come from the fields of a scenario, and nothing is written twice."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from validation.cli.app import main
from validation.cli.options import flag_of, scenario_flags, spell_as_flags

FLAGS = scenario_flags()


def test_every_field_of_a_scenario_has_a_flag_and_the_file_one_too() -> None:
    assert {item.name for item in fields(FLAGS)} == {item.name for item in fields(Scenario)} | {"scenario"}


def test_flags_can_be_left_out_or_chosen() -> None:
    assert "scheduler" not in {item.name for item in fields(scenario_flags(without=["scheduler"]))}
    assert {item.name for item in fields(scenario_flags(only=["tp"]))} == {"tp", "scenario"}


def test_only_what_was_given_changes_the_defaults() -> None:
    assert FLAGS().load() == Scenario()
    assert FLAGS(tp=2, rate_rps=3.0).load() == Scenario(tp=2, rate_rps=3.0)
    assert FLAGS(tp=2).load(seed=9) == Scenario(tp=2, seed=9)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_flags_win_over_the_file_however_it_was_saved(tmp_path: Path, newline: str, mark: str) -> None:
    path = tmp_path / "case.toml"
    text = mark + newline.join(['hardware = "rtx3050"', "tp = 4", "rate_rps = 2", ""])
    path.write_bytes(text.encode())
    loaded = FLAGS(scenario=str(path), tp=2).load()
    assert loaded == Scenario(hardware="rtx3050", tp=2, rate_rps=2.0)


def test_a_wrong_key_in_the_file_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "case.toml"
    path.write_text("rates_rps = 2.0\n")
    with pytest.raises(
        ConfigError, match=r"case\.toml: rates_rps: unknown key \(did you mean 'rate_rps'\?\)"
    ):
        FLAGS(scenario=str(path)).load()


@pytest.mark.parametrize(
    ("message", "words", "spelled"),
    [
        ("rate_rps: -1 must be > 0", ["--rate=-1"], "--rate: -1 must be > 0"),
        ("rate_rps: -1 must be > 0", ["--rate-rps", "-1"], "--rate-rps: -1 must be > 0"),
        ("rate_rps: -1 must be > 0", ["--min-rate", "-1"], "rate_rps: -1 must be > 0"),
        ("max_seqs: 0 must", ["--max-seqs", "0"], "--max-seqs: 0 must"),
        ("rate_rps=9 is not below 5", ["--rate", "9"], "--rate=9 is not below 5"),
        ("a/b.csv: row 3: bad", ["--trace", "a/b.csv"], "a/b.csv: row 3: bad"),
    ],
)
def test_an_error_speaks_of_the_flag_that_was_written(message: str, words: list[str], spelled: str) -> None:
    assert spell_as_flags(message, words) == spelled


def test_short_flags_are_the_usual_ones() -> None:
    assert [flag_of(name) for name in ("rate_rps", "duration_s", "kv_dtype")] == [
        "--rate",
        "--duration",
        "--kv-dtype",
    ]


def test_help_names_the_unit_of_a_bandwidth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--link-bytes-per-s BYTES/S" in shown
    assert "--link-latency-s SECONDS" in shown
