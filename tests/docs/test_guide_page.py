"""The page on the learning guide: its claims and commands are there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, prints
from validation.claims import CLAIMS

TEXT = (DOCS / "guide.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`((?:info|compare|sweep|run|predict|knee) --[^`]*)`", TEXT)


def test_every_claim_has_its_name() -> None:
    named = [name for words in re.findall(r"`validate claims ([\w -]+)`", TEXT) for name in words.split()]
    assert len(named) >= 9
    assert set(named) <= set(CLAIMS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_is_one_of_its_command(command: str) -> None:
    name, *words = command.split()
    helped = prints(f"sched-sim {name} --help")
    assert [word for word in words if word.startswith("--") and word not in helped] == []
