"""The rows of a file, whether it is a table in text or JSON line by line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

from ._file import open_text
from ._json_lines import LONGEST_LINE, JsonLines
from ._table import Rows, Table

__all__ = ["open_rows"]

_LONGEST_HEADER = 100_000
_VALUE = re.compile(r"[-+.\d][-+.:\d eETZ]*|nan|", re.IGNORECASE)


@contextmanager
def open_rows(path: str) -> Iterator[Rows]:
    """Rows of a text file; JSON is told from its first sign, commas, semicolons or tabs from the names.

    Raises
    ------
    ConfigError
        If the file cannot be read, is empty, or its first line does not hold names.
    """
    with open_text(path) as stream:
        line, number = stream.readline(_LONGEST_HEADER), 1
        while line and not line.strip():
            line, number = stream.readline(_LONGEST_HEADER), number + 1
        if not line:
            raise ConfigError(f"{path}: is empty")
        if line.lstrip()[0] in "{[":
            if len(line) >= _LONGEST_HEADER and not line.endswith("\n"):
                line += stream.readline(LONGEST_LINE)
            yield JsonLines.begun(path=path, stream=stream, line=line, number=number)
            return
        if len(line) >= _LONGEST_HEADER:
            raise ConfigError(f"{path}: line {number}: more than {_LONGEST_HEADER:,} characters; not a table")
        delimiter = max(",;\t", key=line.count)
        yield Table(
            path=path,
            header=_names(path, number, line, delimiter),
            header_line=number,
            stream=stream,
            delimiter=delimiter,
        )


def _names(path: str, number: int, line: str, delimiter: str) -> list[str]:
    try:
        header = [name.strip() for name in next(csv.reader([line], delimiter=delimiter, strict=True))]
    except csv.Error as error:
        raise ConfigError(f"{path}: line {number}: not CSV ({error}); check the quotes") from None
    if all(_VALUE.fullmatch(name) for name in header):
        raise ConfigError(
            f"{path}: line {number}: {shown(line.strip())} are values, not column names; "
            "put a line such as arrival_s,prompt_tokens,output_tokens first"
        )
    return header
