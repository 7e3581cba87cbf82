"""The notes: which there are, and the tables that stand in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .table import Table

__all__ = ["NOTES", "note_path", "tables_in", "tables_of", "with_tables"]

NOTES = (
    "inoue",
    "yang",
    "multi_bin",
    "inferno",
    "dai",
    "nie",
    "sarathi",
    "distserve",
    "pollaczek_khinchine",
    "erlang",
    "cobham",
    "shortest_first",
    "bulk_service",
    "knee",
    "cache",
    "own",
)
"""Every note, in reading order: ``NAME.md`` with the text, ``NAME.py`` with ``tables()``."""

_PLACE = re.compile(r"<!-- table: ([a-z0-9-]+) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)


def note_path(name: str) -> Path:
    """The file of a note.

    Parameters
    ----------
    name : str
        One of `NOTES`.

    Raises
    ------
    ConfigError
        If there is no such note.

    Examples
    --------
    >>> note_path("inoue").name
    'inoue.md'
    """
    checks.one_of("name", name, NOTES)
    return Path(__file__).with_name(f"{name}.md")


@cache
def tables_of(name: str) -> tuple[Table, ...]:
    """The tables of a note, computed now (once in a process).

    Parameters
    ----------
    name : str
        One of `NOTES`.

    Raises
    ------
    ConfigError
        If there is no such note.

    Examples
    --------
    >>> [table.name for table in tables_of("inoue")]
    ['latency', 'bound']
    """
    note_path(name)
    found: tuple[Table, ...] = import_module(f"papers.{name}").tables()
    return found


def tables_in(text: str) -> dict[str, str]:
    """The tables that stand in a text, by name.

    Parameters
    ----------
    text : str
        Markdown with tables between ``<!-- table: NAME -->`` and ``<!-- end -->``.

    Examples
    --------
    >>> tables_in("<!-- table: one -->\\n\\n| a |\\n\\n<!-- end -->")
    {'one': '| a |'}
    """
    return dict(_PLACE.findall(text))


def with_tables(text: str, tables: Sequence[Table]) -> str:
    """The text with these tables in their places; other tables stay.

    Parameters
    ----------
    text : str
        Markdown with a place for each table.
    tables : sequence of Table
        What to put there.

    Raises
    ------
    ConfigError
        If there is no place for a table.

    Examples
    --------
    >>> with_tables("<!-- table: one -->\\n\\nold\\n\\n<!-- end -->", [])
    '<!-- table: one -->\\n\\nold\\n\\n<!-- end -->'
    """
    new = {table.name: table.markdown() for table in tables}
    for name in new.keys() - tables_in(text).keys():
        raise ConfigError(f"table {name!r}: the note has no line <!-- table: {name} -->")

    def place(found: re.Match[str]) -> str:
        name, old = found.groups()
        return f"<!-- table: {name} -->\n\n{new.get(name, old)}\n\n<!-- end -->"

    return _PLACE.sub(place, text)
