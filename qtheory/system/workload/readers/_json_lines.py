"""JSON line by line, one object a line, as rows of texts like those of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

from . import _table
from ._table import Block

__all__ = ["LONGEST_LINE", "JsonLines"]

LONGEST_LINE = 16_000_000
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


@dataclass(slots=True, kw_only=True)
class JsonLines:
    """Objects under way: the keys of the first, and the values of all, once.

    Parameters
    ----------
    path : str
        File, for messages.
    header : list of str
        Keys of the first object; others are not read.
    header_line : int
        Line of the first object.
    stream : text file
        What follows that line.
    first : str
        The line itself.
    """

    path: str
    header: list[str]
    header_line: int
    stream: TextIO
    first: str

    @classmethod
    def begun(cls, *, path: str, stream: TextIO, line: str, number: int) -> JsonLines:
        """From the first line, of which the keys are taken.

        Raises
        ------
        ConfigError
            If it is not an object.
        """
        keys = list(_object(path, number, line))
        header = [key if key.isprintable() else repr(key) for key in keys]
        return cls(path=path, header=header, header_line=number, stream=stream, first=line)

    def blocks(self) -> Iterator[Block]:
        """Rows in blocks; blank lines are left out. A value that is missing is an empty text.

        Raises
        ------
        ConfigError
            If a line is not an object.
        """
        lines: list[Sequence[str]] = []
        rows: list[Sequence[str]] = []
        number, line = self.header_line, self.first
        while line:
            lines.append([line.rstrip("\n")])
            if line.strip():
                values = _object(self.path, number, line)
                rows.append([_text(values.get(key, "")) for key in self.header])
            number, line = number + 1, self.stream.readline(LONGEST_LINE)
            if len(rows) >= _table.BLOCK_ROWS or not line:
                if rows:
                    columns = list(zip(*rows, strict=True))
                    first_line = number - len(lines)
                    yield Block(path=self.path, columns=columns, lines=lines, first_line=first_line)
                lines, rows = [], []


def _object(path: str, number: int, line: str) -> dict[str, Any]:
    """Keys and values of a line; numbers stay as they are written."""
    where = f"{path}: line {number}"
    if len(line) >= LONGEST_LINE and not line.endswith("\n"):
        raise ConfigError(f"{where}: more than {LONGEST_LINE:,} characters; write one object a line")
    try:
        values = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at sign {error.pos + 1}"
        raise ConfigError(
            f"{where}: not JSON ({why}); write one whole object a line; cut short? complete it or delete it"
        ) from None
    except RecursionError:
        raise ConfigError(f"{where}: JSON nested too deeply; write one object a line") from None
    if not isinstance(values, dict) or not values:
        raise ConfigError(
            f"{where}: {shown(line.strip())} is not an object with keys; write one object a line, such as "
            '{"timestamp": 0, "input_length": 9, "output_length": 9}'
        )
    return values


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "[" + ",".join([item if type(item) is str else _text(item) for item in value]) + "]"
    return "" if value is None else json.dumps(value)
