"""Tables in text: a line of column names, then rows, in blocks that know where in the file they stand."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TextIO

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError

__all__ = ["Block", "FaultError", "Rows", "Table", "folded"]

BLOCK_ROWS = 65_536
_LONGEST_LINE = 1_000_000


class FaultError(Exception):
    """A value that cannot be taken: its row in the block, and what is wrong with it and would be right."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row
        self.why = why


def folded(name: str) -> str:
    """Column name without case and outer spaces; inner spaces and dashes are underscores.

    Examples
    --------
    >>> folded(" Prompt tokens")
    'prompt_tokens'
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some rows of a table, as text, one tuple a column."""

    path: str
    columns: Sequence[Sequence[str]]
    lines: Sequence[Sequence[str]]
    first_line: int

    def line(self, row: int) -> int:
        """Number of the line on which a row of the block begins; only an error asks for it."""
        number = self.first_line
        for fields in self.lines:
            if not _blank(fields):
                if row == 0:
                    break
                row -= 1
            number += 1 + sum(field.count("\n") for field in fields)
        return number

    def error(self, row: int, column: str, value: str, why: str) -> ConfigError:
        """The error for a value: file, line, column, value, what is wrong and what is allowed."""
        return ConfigError(f"{self.path}: line {self.line(row)}: {column}: {shown(value)} {why}")


class Rows(Protocol):
    """What a format reads: the names of columns, as written, and the rows that follow, once."""

    path: str
    header: list[str]
    header_line: int

    def blocks(self) -> Iterator[Block]:
        """Rows in blocks."""


@dataclass(slots=True, kw_only=True)
class Table:
    """A table under way: its column names as written, and the rows that follow, once.

    Parameters
    ----------
    path : str
        File, for messages.
    header : list of str
        Column names, without outer spaces.
    header_line : int
        Line of the names.
    stream : text file
        What follows that line.
    delimiter : str
        Comma, semicolon or tab.
    """

    path: str
    header: list[str]
    header_line: int
    stream: TextIO
    delimiter: str

    def blocks(self) -> Iterator[Block]:
        """Rows in blocks; blank lines are left out.

        Raises
        ------
        ConfigError
            If there is no row, a row has too many or too few values, a quote is not closed, or a line is
            longer than a million characters.
        """
        reader = csv.reader(self._lines(), delimiter=self.delimiter, strict=True)
        first_line, n_rows = self.header_line + 1, 0
        while True:
            try:
                lines = list(islice(reader, BLOCK_ROWS))
            except csv.Error as error:
                line = self.header_line + reader.line_num
                raise ConfigError(f"{self.path}: line {line}: not CSV ({error}); check the quotes") from None
            if not lines:
                break
            rows = lines if all(map(len, lines)) else [fields for fields in lines if fields]
            if {len(fields) for fields in rows} - {len(self.header)}:
                rows = [fields for fields in rows if not _blank(fields)]
                self._refuse_ragged(rows, lines, first_line)
            if rows:
                n_rows += len(rows)
                yield Block(
                    path=self.path, columns=list(zip(*rows, strict=True)), lines=lines, first_line=first_line
                )
            first_line = self.header_line + reader.line_num + 1
        if n_rows == 0:
            raise ConfigError(f"{self.path}: line {self.header_line}: column names, but no rows below them")

    def _lines(self) -> Iterator[str]:
        """Lines, none of which is taken into memory if it is longer than any table has."""
        readline, number = self.stream.readline, self.header_line
        while line := readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                raise ConfigError(
                    f"{self.path}: line {number}: more than {_LONGEST_LINE:,} characters; one row a line"
                )
            yield line

    def _refuse_ragged(self, rows: list[list[str]], lines: Sequence[Sequence[str]], first_line: int) -> None:
        wanted = len(self.header)
        for row, fields in enumerate(rows):
            if len(fields) == wanted:
                continue
            line = Block(path=self.path, columns=(), lines=lines, first_line=first_line).line(row)
            why = "a decimal comma? write a point, or quote text that holds a comma"
            if len(fields) < wanted:
                why = "cut short? complete it or delete it"
            values = f"{len(fields)} value{'s' if len(fields) > 1 else ''}"
            text = shown(self.delimiter.join(fields))
            raise ConfigError(f"{self.path}: line {line}: {text} has {values} for {wanted} columns; {why}")


def _blank(fields: Sequence[str]) -> bool:
    return not fields or (len(fields) == 1 and not fields[0].strip())
