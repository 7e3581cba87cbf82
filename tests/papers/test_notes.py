"""The notes: their numbers are those of the library, their names exist, and they lean on nothing else."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

from papers import cache
from papers.notes import NOTES, note_path, tables_in, tables_of, with_tables
from papers.table import Table
from qtheory.basics.errors import ConfigError

FOLDER = note_path(NOTES[0]).parent
NEEDS_A_TRACE = {("cache", "trace")}
SECTIONS = ("## Question", "## Formulas", "## Symbols", "## In the code", "## Reproduced")
_DOTTED = re.compile(r"`(qtheory(?:\.\w+)+)`")


def _text(name: str) -> str:
    return note_path(name).read_text(encoding="utf-8")


def _object(dotted: str) -> object:
    """What a dotted name stands for."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", NOTES)
def test_the_library_gives_the_numbers_of_the_source(name: str) -> None:
    rows = [row for table in tables_of(name) for row in table.rows]
    assert rows
    assert [row for row in rows if not row.agrees] == []


@pytest.mark.parametrize("name", NOTES)
def test_a_note_shows_the_tables_that_are_computed(name: str) -> None:
    shown = {
        place: text for place, text in tables_in(_text(name)).items() if (name, place) not in NEEDS_A_TRACE
    }
    assert shown == {table.name: table.markdown() for table in tables_of(name)}


@pytest.mark.shared
def test_the_note_on_caches_shows_what_the_trace_gives(shared: Path) -> None:
    table = cache.trace_table(shared / "data" / "traces" / "mooncake_fast25_conversation.jsonl.gz")
    assert [row.case for row in table.rows if not row.agrees] == []
    assert tables_in(_text("cache"))["trace"] == table.markdown()


@pytest.mark.parametrize("name", NOTES)
def test_every_name_in_a_note_can_be_imported(name: str) -> None:
    found = _DOTTED.findall(_text(name))
    assert found
    for dotted in found:
        assert _object(dotted) is not None


@pytest.mark.parametrize("name", NOTES)
def test_what_a_symbol_is_called_is_a_name_of_what_the_note_points_to(name: str) -> None:
    text = _text(name)
    known = {word for dotted in _DOTTED.findall(text) for word in _names(_object(dotted))}
    lines = text.partition("## Symbols")[2].partition("## ")[0].splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    assert len(rows) >= 3
    for row in rows:
        *_, called, _ = row.split("|")
        words = re.findall(r"`(\w+)`", called)
        assert words or called.strip() == "—", row
        assert set(words) <= known, row


def _names(thing: object) -> set[str]:
    """The name of a class or function, and those of its fields, methods and arguments."""
    names = {str(getattr(thing, "__name__", ""))}
    if inspect.isclass(thing):
        names |= set(dir(thing))
        names |= (
            {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
        )
    elif callable(thing):
        names |= set(inspect.signature(thing).parameters)
    return names


@pytest.mark.parametrize("name", NOTES)
def test_a_note_has_its_parts_and_a_source(name: str) -> None:
    text = _text(name)
    places = [text.index(section) for section in SECTIONS]
    assert places == sorted(places)
    assert re.search(r"\((19|20)\d\d\)", text.partition("## Question")[0])
    assert text.count("$$") % 2 == 0
    assert text.replace("$$", "").count("$") % 2 == 0


def test_every_note_is_in_the_list_and_in_the_index() -> None:
    files = {path.stem for path in FOLDER.glob("*.md")} - {"README"}
    assert files == set(NOTES)
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[\w+\]\((\w+)\.md\)", index, re.MULTILINE) == list(NOTES)


def test_links_between_notes_lead_somewhere() -> None:
    for path in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\(([^)]+\.md)\)", path.read_text(encoding="utf-8")):
            assert (FOLDER / target).is_file(), f"{path.name}: {target}"


def test_the_notes_lean_on_the_theory_alone() -> None:
    allowed = {"qtheory", "papers", "numpy", "scipy"} | set(sys.stdlib_module_names)
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(str(node.module))
            assert {name.partition(".")[0] for name in names} <= allowed, path.name


def test_a_table_without_a_place_is_named() -> None:
    with pytest.raises(ConfigError, match="table 'one'"):
        with_tables("no place", [Table(name="one", rows=())])


def test_other_tables_stay_as_they_are() -> None:
    text = "<!-- table: one -->\n\nold\n\n<!-- end -->\n<!-- table: two -->\n\nkept\n\n<!-- end -->"
    new = with_tables(text, [Table(name="one", rows=())])
    assert tables_in(new)["two"] == "kept"
    assert tables_in(new)["one"].startswith("| case |")


def test_a_trace_without_blocks_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"hash_ids": [1, 2]}\n{"timestamp": 0}\n')
    with pytest.raises(ConfigError, match="line 2 has no hash_ids"):
        cache.trace_table(trace)
