"""Names of a person's own schedulers: a name in a Python file, or an installed entry point."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINTS", "OwnName", "entry_point", "is_own", "own_name"]

ENTRY_POINTS = "queueserve.schedulers"
"""Group of entry points in which installed packages offer schedulers."""

_IN_FILE = re.compile(r"\s*(?P<where>[^()]+\.py):(?P<what>\w+)\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)
_INSTALLED = re.compile(r"\s*(?P<what>[\w-]+)\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)


class OwnName:
    """A name of a person's own scheduler, taken apart.

    Parameters
    ----------
    file : str
        The Python file; empty for an entry point.
    what : str
        Name in the file, or of the entry point.
    inside : str
        Options as written between the brackets.

    Examples
    --------
    >>> own_name("rules/mine.py:Mine(limit_s=5)").file
    'rules/mine.py'
    """

    __slots__ = ("file", "inside", "what")

    def __init__(self, file: str, what: str, inside: str) -> None:
        self.file, self.what, self.inside = file, what, inside

    @property
    def label(self) -> str:
        """The name without its options."""
        return f"{self.file}:{self.what}" if self.file else self.what


def own_name(text: str) -> OwnName | None:
    """The parts of such a name; None if the text is no such name.

    Parameters
    ----------
    text : str
        ``FILE.py:NAME``, the name of an entry point, or one of them with options in brackets.

    Examples
    --------
    >>> own_name("mine.py:Mine").what, own_name("chunked")
    ('Mine', None)
    """
    if match := _IN_FILE.fullmatch(text):
        return OwnName(match["where"], match["what"], match["inside"] or "")
    match = _INSTALLED.fullmatch(text)
    if match and entry_point(match["what"]) is not None:
        return OwnName("", match["what"], match["inside"] or "")
    return None


def is_own(text: str) -> bool:
    """Whether a text names a person's own scheduler; whether there is one is seen when it is loaded.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> is_own("mine.py:Mine(limit_s=5)"), is_own("chunked")
    (True, False)
    """
    return own_name(text) is not None


def entry_point(name: str) -> EntryPoint | None:
    """The entry point of a name in the group of schedulers, if an installed package offers one.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> entry_point("nobody-has-this") is None
    True
    """
    from importlib.metadata import entry_points  # slow to import, so only here

    return next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
