"""The page on traces: its commands run, and print what stands there.

``python -m tests.docs.test_inside_a_run_page`` writes what the command prints into the page.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, commands, prints, rewrite
from tests.sim.perfetto.structure import check_structure
from validation.cli.app import main

PAGE = "inside-a-run.md"
PLAIN = re.findall(r"^sched-sim (.*)$", (DOCS / PAGE).read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize(("command", "output"), commands(PAGE))
def test_the_page_shows_what_the_command_prints(command: str, output: str) -> None:
    assert prints(command) == output


@pytest.mark.parametrize("words", PLAIN)
def test_every_command_writes_a_trace(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(words), "--replications", "1", "--jobs", "1", "-q"]) == 0
    assert capsys.readouterr().err == ""
    [path] = tmp_path.iterdir()
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    check_structure(trace["traceEvents"])


if __name__ == "__main__":
    rewrite(PAGE)
