"""Pages with files and commands: what stands on them, what is printed, how a page is written anew."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
from pathlib import Path

from validation.cli.app import main

__all__ = ["DOCS", "commands", "files", "prints", "rewrite"]

DOCS = Path(__file__).resolve().parents[2] / "docs"
_FILE = re.compile(r"^```python (\S+)\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^```console\n\$ (.*?)\n(.*?)^```$", re.M | re.S)


def files(page: str) -> dict[str, str]:
    """Files that stand on a page, by name."""
    return dict(_FILE.findall((DOCS / page).read_text(encoding="utf-8")))


def commands(page: str) -> list[tuple[str, str]]:
    """Commands of a page with what they print there."""
    return _COMMAND.findall((DOCS / page).read_text(encoding="utf-8"))


def prints(command: str) -> str:
    """What a command prints, the errors too."""
    text = io.StringIO()
    name, *words = shlex.split(command)
    assert name == "sched-sim"
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        main(words)
    return text.getvalue()


def rewrite(page: str) -> None:
    """Put what the commands print now into a page."""
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in files(page).items():
            Path(name).write_text(content, encoding="utf-8")
        text = _COMMAND.sub(lambda block: f"```console\n$ {block[1]}\n{prints(block[1])}```", text)
    path.write_text(text, encoding="utf-8")
