"""The known formats, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from qtheory.basics.errors import ConfigError

from . import azure, lengths, mooncake, plain
from ._json_lines import JsonLines
from ._table import Rows, folded
from .format import Place, TraceFormat
from .quantiles import holds_quantiles
from .rates import holds_rates

__all__ = ["reader_names", "recognise"]

_LONGEST = 200
_FORMATS = (azure.FORMAT, mooncake.FORMAT, plain.FORMAT, lengths.FORMAT)
_TABLES_ONLY, _JSON_ONLY = (azure.FORMAT,), (mooncake.FORMAT,)


def reader_names() -> tuple[str, ...]:
    """Names of the formats that can be read.

    Examples
    --------
    >>> reader_names()
    ('azure', 'mooncake', 'csv', 'lengths')
    """
    return tuple(form.name for form in _FORMATS)


def recognise(table: Rows, needed: Sequence[str]) -> Mapping[str, Place]:
    """Columns of the quantities of a table, by the first format that fits its column names.

    Parameters
    ----------
    table : Rows
        A table, or JSON line by line, of which the names are read.
    needed : sequence of str
        Fields of `Requests` that have to be there.

    Raises
    ------
    ConfigError
        If no format fits, a needed column is missing, or one is there twice.
    """
    where = f"{table.path}: line {table.header_line}"
    others = _TABLES_ONLY if isinstance(table, JsonLines) else _JSON_ONLY
    form = next((form for form in _FORMATS if form not in others and form.fits(table.header)), None)
    try:
        places = form.places(table.header) if form else plain.FORMAT.places(table.header)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    missing = [field for field in needed if field not in places]
    if not missing:
        return places
    _refuse_other_tables(table, where)
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


def _refuse_other_tables(table: Rows, where: str) -> None:
    """Say what a file without requests is for."""
    if holds_quantiles(table.header):
        raise ConfigError(
            f"{where}: quantiles of lengths, not requests; give it as lengths, as in "
            "'quantiles(FILE, workload=m-large, client=61)'"
        )
    if holds_rates(table.header):
        raise ConfigError(
            f"{where}: rates by window of time, not requests; give it as arrivals, as in "
            "'profile(FILE, workload=m-large)'"
        )


def _known(formats: Iterable[TraceFormat]) -> str:
    return "; ".join(f"{form.name} ({form.columns})" for form in formats)


def _near(field: str, unread: Sequence[str]) -> str:
    """Text for the column that may be a misspelling of a name of ``field``, or an empty string."""
    for column in unread:
        near = get_close_matches(folded(column), plain.NAMES[field], n=1, cutoff=0.75)
        if near:
            return f" (is {column!r} meant as {near[0]!r}?)"
    return ""
