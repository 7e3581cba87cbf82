"""``python -m papers``: what it prints and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers import __main__ as command
from papers.notes import tables_of
from papers.table import Row, Table


def test_a_note_is_printed_and_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["distserve"]) == 0
    out = capsys.readouterr().out
    assert all(table.markdown() in out for table in tables_of("distserve"))
    assert out.endswith("every number agrees\n")


def test_a_number_that_is_too_far_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Table(name="t", rows=(Row(case="load", source="0.5", ours=0.6, origin="identity"),))
    monkeypatch.setattr(command, "tables_of", lambda name: (wrong,))
    assert command.main(["knee"]) == 1
    assert "too far: knee: load" in capsys.readouterr().out


def test_tables_are_written_into_the_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("".join(f"<!-- table: {t.name} -->\n\n-\n\n<!-- end -->\n" for t in tables_of("knee")))
    monkeypatch.setattr(command, "note_path", lambda name: note)
    assert command.main(["knee", "--write"]) == 0
    assert tables_of("knee")[0].markdown() in note.read_text()


def test_what_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["kne"]) == 2
    assert "did you mean 'knee'" in capsys.readouterr().err
    assert command.main(["cache", "--trace", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
