"""Texts that name a file and choose from it: ``profile(rates.csv, workload=m-large)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qtheory.basics.errors import ConfigError

__all__ = ["Parts", "begins_with", "quoted", "split_call"]

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(.*)?", re.DOTALL)
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
_PLAIN = re.compile(r"[\w./\\:~+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What stands between the brackets: one text without a name at most, and those with one."""

    first: str | None
    named: dict[str, str]


def begins_with(text: str) -> str | None:
    """The name with which a text such as ``profile(x.csv)`` begins, in lower case; None if with none."""
    match = _NAME.fullmatch(text)
    return match[1].lower() if match else None


def quoted(text: str) -> str:
    """The text, in quotes where it needs them to be read back.

    Examples
    --------
    >>> quoted("data/rates.csv"), quoted("my rates, new.csv")
    ('data/rates.csv', "'my rates, new.csv'")
    """
    if _PLAIN.fullmatch(text):
        return text
    mark = '"' if "'" in text else "'"
    return f"{mark}{text}{mark}"


def split_call(text: str, *, where: str) -> Parts:
    """Parts between the brackets, separated by commas outside of quotes and square brackets.

    Raises
    ------
    ConfigError
        If a bracket or a quote is not closed, a part is empty, given twice or more than one has no name.

    Examples
    --------
    >>> split_call("profile('my rates.csv', workload=m-large, cv=2)", where="arrivals")
    Parts(first='my rates.csv', named={'workload': 'm-large', 'cv': '2'})
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise ConfigError(f"{where}: {_short(text)} has no closing bracket; write name(FILE, key=value, ...)")
    first, named = None, {}
    for part in _pieces(match[2], f"{where}: {_short(text)}"):
        pair = _NAMED.fullmatch(part)
        value = _bare(pair[2] if pair else part)
        if not value:
            raise ConfigError(f"{where}: {_short(text)} has an empty part; write name(FILE, key=value, ...)")
        if pair is None:
            if first is not None:
                raise ConfigError(f"{where}: {_short(part)} needs a name; write name(FILE, key=value, ...)")
            first = value
        elif pair[1] in named:
            raise ConfigError(f"{where}: {pair[1]} is given twice")
        else:
            named[pair[1]] = value
    return Parts(first=first, named=named)


def _pieces(inside: str, shown: str) -> list[str]:
    pieces, mark, depth = [""], "", 0
    for letter in inside:
        if mark:
            mark = "" if letter == mark else mark
        elif letter in "'\"" and not pieces[-1].strip().rpartition("=")[2].strip():
            mark = letter
        elif letter in "[]":
            depth += 1 if letter == "[" else -1
        if letter == "," and not mark and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    if mark:
        raise ConfigError(f"{shown}: a quote {mark} is not closed")
    return [piece.strip() for piece in pieces] if inside.strip() else []


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 70 else flat[:67] + "...")
