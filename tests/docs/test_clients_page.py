"""The page on clients that time out: its commands run, and its table names the fields of a scenario."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields

import pytest

from qtheory.system.scenario import Scenario
from sim.clients import Patience
from tests.docs.pages import DOCS
from validation.cli.app import main

TEXT = (DOCS / "clients.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", re.findall(r"^sched-sim (.*)$", TEXT, re.M))
def test_every_command_runs(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--requests", "20", "--replications", "1", "--jobs", "1", "-q"]
    assert main([*shlex.split(re.sub(r"--requests \d+", "", words)), *small]) == 0
    assert "attempts" in capsys.readouterr().out


def test_the_table_has_every_field_with_its_default() -> None:
    keys = re.findall(r"^\| `--[\w-]+ [\w.]+` \| `(\w+)` \|", TEXT, re.M)
    assert keys == [item.name for item in fields(Patience)]
    for key in keys[1:]:
        [default] = re.findall(rf"`{key}` \|.*\[(\w+)\] \|$", TEXT, re.M)
        assert str(getattr(Scenario(), key)).removesuffix(".0") == default
