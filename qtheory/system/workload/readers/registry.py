"""The known formats, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from qtheory.basics.errors import ConfigError

from . import azure, lengths, plain
from ._table import Table, folded
from .format import Place, TraceFormat

__all__ = ["reader_names", "recognise"]

_LONGEST = 200
_FORMATS = (azure.FORMAT, plain.FORMAT, lengths.FORMAT)


def reader_names() -> tuple[str, ...]:
    """Names of the formats that can be read.

    Examples
    --------
    >>> reader_names()
    ('azure', 'csv', 'lengths')
    """
    return tuple(form.name for form in _FORMATS)


def recognise(table: Table, needed: Sequence[str]) -> Mapping[str, Place]:
    """Columns of the quantities of a table, by the first format that fits its column names.

    Parameters
    ----------
    table : Table
        A table of which the column names are read.
    needed : sequence of str
        Fields of `Requests` that have to be there.

    Raises
    ------
    ConfigError
        If no format fits, a needed column is missing, or one is there twice.
    """
    where = f"{table.path}: line {table.header_line}"
    form = next((form for form in _FORMATS if form.fits(table.header)), None)
    try:
        places = form.places(table.header) if form else plain.FORMAT.places(table.header)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    missing = [field for field in needed if field not in places]
    if not missing:
        return places
    unread = [
        name for index, name in enumerate(table.header) if index not in {p.index for p in places.values()}
    ]
    hints = {field: _near(field, unread) for field in missing}
    names = ", ".join(table.header)
    found = f"found {names if len(names) <= _LONGEST else names[:_LONGEST] + '...'}"
    if form is None and not set(needed) & set(places) and not any(hints.values()):
        raise ConfigError(f"{where}: unknown format; {found}; known are {_known(_FORMATS)}")
    wanted = " and ".join(f"{field}{hint}" for field, hint in hints.items())
    raise ConfigError(f"{where}: no column for {wanted}; {found}; known are {_known(_FORMATS)}")


def _known(formats: Iterable[TraceFormat]) -> str:
    return "; ".join(f"{form.name} ({form.columns})" for form in formats)


def _near(field: str, unread: Sequence[str]) -> str:
    """Text for the column that may be a misspelling of a name of ``field``, or an empty string."""
    for column in unread:
        near = get_close_matches(folded(column), plain.NAMES[field], n=1, cutoff=0.75)
        if near:
            return f" (is {column!r} meant as {near[0]!r}?)"
    return ""
