"""The page on a published engine's answers: its command prints what it says, its table has every rule."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from validation.cli.app import main
from validation.peer_des._case import CASE_KEYS
from validation.peer_des._rules import RULES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "peer-des.md").read_text(encoding="utf-8")


def test_the_command_prints_what_stands_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ((command, printed),) = re.findall(r"^```console\n\$ sched-sim (.*?)\n(.*?)^```$", TEXT, re.M | re.S)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out == printed


def test_the_table_has_every_rule_with_its_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| .*\|$", TEXT.partition("## The rules")[2], re.M))
    assert {rule: tuple(re.findall(r"`(.*?)`", words)) for rule, words in rows.items()} == RULES


def test_the_keys_of_a_case_stand_there() -> None:
    part = TEXT.partition("## The rules")[0]
    assert [key for key in CASE_KEYS if key not in RULES and f"`{key}`" not in part] == []
