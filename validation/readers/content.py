"""What stands in a file, before anyone knows which tool wrote it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text, shown_name

__all__ = ["Content", "maybe", "need", "part", "read_content", "refuse_renamed", "whole"]

_LARGEST_BYTES = 256_000_000
_SAME_WORD = 0.85
_STATISTIC = re.compile(r"\b(p\d+|std|min|max|median|mean|\d+\.\d+ percentile)(?=[ _])")
_NAN_WORDS = frozenset({"", "nan", "none", "null", "-", "n/a"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A file taken apart as far as that goes without knowing its format.

    Parameters
    ----------
    name : str
        For messages.
    text : str
        All of it.
    data : object
        What JSON says; a list of them for JSON lines; None if it is not JSON.
    columns : tuple of str
        Names in its first line, if that reads like a table.
    """

    name: str
    text: str
    data: Any
    columns: tuple[str, ...]

    def rows(self) -> list[dict[str, str]]:
        """Rows of the table below the first line; cells that a short line lacks are empty."""
        try:
            found = list(csv.DictReader(io.StringIO(self.text, newline=""), restval=""))
        except csv.Error as error:
            raise ConfigError(f"{self.name}: not CSV ({error}); check the quotes") from None
        if not found:
            raise ConfigError(f"{self.name}: no rows below the header")
        return found


def read_content(path: str | Path) -> Content:
    """Read a file as JSON, JSON lines, a table or plain text; ``.gz`` too.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ConfigError
        If it cannot be read, or is JSON that ends too early.
    """
    name = shown_name(path)
    text = _text(Path(path), name)
    data = _json(text, name)
    first = text.lstrip().partition("\n")[0].strip()
    columns = tuple(next(csv.reader([first]), [])) if data is None and "," in first else ()
    return Content(name=name, text=text, data=data, columns=tuple(c.strip() for c in columns))


def _text(path: Path, name: str) -> str:
    if path.suffix != ".gz":
        return read_text(path, most_bytes=_LARGEST_BYTES, wanted="a benchmark result")
    try:
        with gzip.open(path, "rt", encoding="utf-8-sig") as file:
            text = file.read(_LARGEST_BYTES + 1)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read: {error}") from None
    if len(text) > _LARGEST_BYTES:
        raise ConfigError(f"{name}: is larger than {_LARGEST_BYTES // 10**6} MB unpacked")
    return text


def _json(text: str, name: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply") from None
    except ValueError as whole_error:
        lines = [line for line in text.splitlines() if line.strip()]
        found = []
        for number, line in enumerate(lines, start=1):
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                if number == 1 or len(lines) == 1:
                    raise ConfigError(f"{name}: not valid JSON: {whole_error}; is it cut off?") from None
                raise ConfigError(f"{name}: line {number}: not valid JSON; is it cut off?") from None
        return found


def maybe(record: Mapping[str, Any], key: str, where: str) -> float | None:
    """The number behind a key, or None if it is missing, empty or not a number in the tool's own words."""
    value = record.get(key)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        if value.strip().lower() in _NAN_WORDS:
            return None
        try:
            value = float(value.replace(",", ""))
        except ValueError:
            raise ConfigError(f"{where}: {key}: {checks.shown(value)} is not a number") from None
    if not isinstance(value, int | float):
        raise ConfigError(f"{where}: {key}: {checks.shown(value)} is not a number")
    return None if math.isnan(value) else float(value)


def need(record: Mapping[str, Any], key: str, where: str, *, least: float = 0.0) -> float:
    """The number behind a key, which must be there and not below ``least``."""
    value = maybe(record, key, where)
    if value is None and key in record:
        raise ConfigError(f"{where}: {key}: is empty")
    if value is None:
        names = [name for name in map(str, record) if name.isprintable()]
        raise ConfigError(f"{where}: {key}: missing{checks.nearest(key, names)}")
    if value < least:
        raise ConfigError(f"{where}: {key}: {value:g} must be >= {least:g}")
    return value


def whole(record: Mapping[str, Any], key: str, where: str, *, least: int = 0) -> int:
    """The whole number behind a key, which must be there."""
    value = need(record, key, where, least=least)
    if value != int(value):
        raise ConfigError(f"{where}: {key}: {value:g} is not a whole number")
    return int(value)


def part(record: object, key: str) -> Mapping[str, Any]:
    """The object behind a key; empty if it is missing or no object."""
    found = record.get(key) if isinstance(record, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def refuse_renamed(
    record: Iterable[str], wanted: Iterable[str], where: str, *, known: Iterable[str] = ()
) -> None:
    """Complain about a key that is nearly one of those that are read where they are there.

    Parameters
    ----------
    record : iterable of str
        Keys or columns that are there.
    wanted : iterable of str
        Means, medians and settings that a tool writes; its other statistics may be there, too.
    where : str
        For messages.
    known : iterable of str
        Other keys of the tool, however alike.
    """
    given, names = {str(key) for key in record}, list(wanted)
    plain = {_without_statistic(name) for name in names}
    others = [key for key in sorted(given - {*names, *known}) if _without_statistic(key) not in plain]
    for name in names:
        for key in others if name not in given else ():
            if close := checks.nearest(key, [name], cutoff=_SAME_WORD):
                raise ConfigError(f"{where}: {key}: unknown{close}")


def _without_statistic(key: str) -> str:
    return _STATISTIC.sub("", key.lower(), count=1)
