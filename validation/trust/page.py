"""The page as text: its tables stand between two comments, and each can be written anew alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

from qtheory.basics.errors import ConfigError

__all__ = ["renewed", "section_names"]

_PLACE = re.compile(r"<!-- table: ([a-z0-9-]+) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)


def section_names(page: str) -> list[str]:
    """Names of the tables of a page, in order.

    Parameters
    ----------
    page : str

    Examples
    --------
    >>> section_names("<!-- table: a -->\\n\\nold\\n\\n<!-- end -->")
    ['a']
    """
    return [match.group(1) for match in _PLACE.finditer(page)]


def renewed(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables in their places; others stay as they are.

    Parameters
    ----------
    page : str
    tables : mapping
        Name of a place to what stands there.

    Raises
    ------
    ConfigError
        If the page has no place for one of them.

    Examples
    --------
    >>> page = "x\\n<!-- table: a -->\\n\\nold\\n\\n<!-- end -->\\ny"
    >>> renewed(page, {"a": "new"})
    'x\\n<!-- table: a -->\\n\\nnew\\n\\n<!-- end -->\\ny'
    """
    known = section_names(page)
    for name in tables:
        if name not in known:
            raise ConfigError(f"page: no place for {name}; there are {', '.join(known) or 'none'}")

    def place(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"<!-- table: {name} -->\n\n{tables.get(name, match.group(2))}\n\n<!-- end -->"

    return _PLACE.sub(place, page)
