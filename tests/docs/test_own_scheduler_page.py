"""The page on a person's own scheduler: its files run, its commands print what stands there.

``python -m tests.docs.test_own_scheduler_page`` writes what the commands print into the page.
"""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, commands, files, prints, rewrite

PAGE = "own-scheduler.md"
COMMANDS = commands(PAGE)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in files(PAGE).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=[command[10:60] for command, _ in COMMANDS])
def test_the_page_shows_what_the_commands_print(command: str, output: str) -> None:
    assert prints(command) == output


def test_the_page_has_a_comparison_and_five_faults() -> None:
    assert set(files(PAGE)) == {"my_file.py", "bad.py"}
    assert [command.split()[1] for command, _ in COMMANDS] == ["compare", *["run"] * 5]
    assert all(output.count("\n") == 1 for _, output in COMMANDS[1:])


def test_the_examples_say_what_comes_out() -> None:
    failed, tried = doctest.testfile(str(DOCS / PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert (failed, tried) == (0, 3)


if __name__ == "__main__":
    rewrite(PAGE)
