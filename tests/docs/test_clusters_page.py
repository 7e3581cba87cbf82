"""The page on clusters: its commands run, its examples say what comes out, its table has every router."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from qtheory.system.cluster import ROUTERS
from validation.cli.app import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clusters.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^sched-sim (.*)$", TEXT.replace("\\\n", ""), re.M)


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_runs(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = [] if "--replications" in words else ["--replications", "2"]
    assert main([*shlex.split(words), *more, "-q"]) == 0
    shown = capsys.readouterr().out
    assert "behind router" in shown or " prefill + " in shown


def test_the_examples_say_what_comes_out() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 10) == (0, True)


def test_the_table_has_every_router_with_its_options() -> None:
    rows = {row[0]: row[2] for row in re.findall(r"^\| `(\w+)` \| (.*) \| (.*)\|$", TEXT, re.M)}
    assert list(rows) == list(ROUTERS)
    for name, options in ROUTERS.items():
        said = dict(re.findall(r"`(\w+)` ([\d.]+)", rows[name]))
        assert {option: float(value) for option, value in said.items()} == options
