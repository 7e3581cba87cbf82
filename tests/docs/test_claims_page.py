"""The page on claims: its command prints what stands there, its table has every claim."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.docs.pages import DOCS, commands
from validation.claims import CLAIMS
from validation.cli.app import main


def test_the_command_prints_what_stands_there(capsys: pytest.CaptureFixture[str]) -> None:
    ((command, printed),) = commands("claims.md")
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == printed


def test_the_table_has_every_claim() -> None:
    text = (DOCS / "claims.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.M) == list(CLAIMS)
