"""Answers kept in a file, a line each, so that what took long is not asked again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qtheory.basics.errors import ConfigError

__all__ = ["KeptAnswers", "Row"]

Row = dict[str, Any]
Key = tuple[str, str, int]


class KeptAnswers:
    """What is known by case, question and number; written down at once.

    Parameters
    ----------
    path : Path or None
        The file, which need not be there yet; None keeps nothing beyond the process.

    Raises
    ------
    ConfigError
        If a line of it is none of these.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._known = path, dict[Key, Row]()
        if path is None or not path.is_file():
            return
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(text)
                self._known[row.pop("case"), row.pop("what"), row.pop("number")] = row
            except (ValueError, KeyError, AttributeError, TypeError):
                raise ConfigError(f"{path}:{number}: not a kept answer; remove the line") from None

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def __getitem__(self, key: Key) -> Row:
        return self._known[key]

    def add(self, key: Key, row: Row) -> None:
        """Keep one more."""
        self._known[key] = row
        if self._path is None:
            return
        case, what, number = key
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"case": case, "what": what, "number": number, **row}) + "\n")
