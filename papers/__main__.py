"""``python -m papers``: recompute what the notes show, print it, and say whether it agrees."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from qtheory.basics.errors import ServingError

from . import cache
from .notes import NOTES, note_path, tables_of, with_tables
from .table import Table

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables of the notes; 1 if a number is too far from its source, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m papers", description="Recompute the tables of the notes."
    )
    parser.add_argument("notes", nargs="*", metavar="NOTE", help=f"of {', '.join(NOTES)}; all by default")
    parser.add_argument("--write", action="store_true", help="put the tables into the notes, too")
    parser.add_argument("--trace", type=Path, help="Mooncake's conversation trace (.jsonl or .jsonl.gz)")
    asked = parser.parse_args(words)
    try:
        wrong = [row for name in asked.notes or NOTES for row in _show(name, asked.trace, asked.write)]
    except (ServingError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(["every number agrees"] if not wrong else [f"too far: {row}" for row in wrong]))
    return 1 if wrong else 0


def _show(name: str, trace: Path | None, write: bool) -> list[str]:
    """Print the tables of a note; the cases that do not agree."""
    path, tables = note_path(name), list(tables_of(name))
    if name == "cache" and trace is not None:
        tables.append(cache.trace_table(trace))
    if write:
        path.write_text(with_tables(path.read_text(encoding="utf-8"), tables), encoding="utf-8")
    for table in tables:
        print(f"{name}: {table.name}\n\n{table.markdown()}\n")
    return [f"{name}: {case}" for table in tables for case in _apart(table)]


def _apart(table: Table) -> list[str]:
    return [row.case for row in table.rows if not row.agrees]


if __name__ == "__main__":
    sys.exit(main())
