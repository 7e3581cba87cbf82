"""Rows of one workload and one client of a file that holds several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["Chooser"]

_MOST_LISTED = 12


@dataclass(slots=True)
class Chooser:
    """Which rows have the wanted texts; remembers what else there was, for messages.

    Parameters
    ----------
    wanted : mapping of str to str or None
        Column to what it must hold; None: whatever it holds, if that is one and the same in all rows.
    """

    wanted: Mapping[str, str | None]
    seen: dict[str, dict[str, None]] = field(default_factory=dict)

    def rows(self, columns: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
        """Whether each row is wanted; each column narrows what the next one sees."""
        n = len(next(iter(columns.values()))) if columns else 0
        chosen = np.ones(n, dtype=bool)
        for name, texts in columns.items():
            words = [text.strip() for text in texts]
            found = self.seen.setdefault(name, {})
            for row in np.flatnonzero(chosen):
                found.setdefault(words[row])
            value = self.wanted.get(name)
            if value is not None:
                chosen &= np.array([word == value for word in words], dtype=bool)
        return chosen

    def check(self, path: str) -> None:
        """Raise a `ConfigError` unless all that is wanted was there, and all that was not named is one."""
        for name, value in self.wanted.items():
            found = list(self.seen.get(name, {}))
            listed = ", ".join(found[:_MOST_LISTED]) + (", ..." if len(found) > _MOST_LISTED else "")
            if value is None and len(found) > 1:
                raise ConfigError(f"{path}: {name} is needed to choose from it; one of {listed}")
            if value is not None and name not in self.seen:
                raise ConfigError(f"{path}: {name}: {checks.shown(value)} given, but there is no such column")
            if value is not None and value not in found:
                hint = checks.nearest(value, found)
                raise ConfigError(f"{path}: {name}: unknown {checks.shown(value)}{hint}; one of {listed}")
