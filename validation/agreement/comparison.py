"""All cells of a design, side by side in processes, each kept when it is finished."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.provenance import version

from .effort import Effort
from .grid import Cell, fresh, full, quick
from .score import Score, score
from .simulated import Simulated

__all__ = ["GRIDS", "KeptCells", "agree", "cells_of", "chosen"]

GRIDS = ("quick", "full", "fresh")
"""Designs by name."""

_FACTORS = ("scheduler", "hardware", "model", "workload", "memory", "arrivals", "load_frac", "number")
_DEFAULT_SEED = 1


def cells_of(grid: str, *, seed: int | None = None) -> list[Cell]:
    """Cells of a design.

    Parameters
    ----------
    grid : str
        One of `GRIDS`.
    seed : int, optional
        Of ``fresh`` (default 1); the other two are fixed.

    Raises
    ------
    ConfigError
        If the design is unknown, or fixed and a seed is given.

    Examples
    --------
    >>> len(cells_of("full")), len(cells_of("fresh", seed=7))
    (300, 30)
    """
    checks.one_of("grid", grid, GRIDS)
    if grid == "fresh":
        return fresh(_DEFAULT_SEED if seed is None else seed)
    if seed is not None:
        raise ConfigError(
            f"--seed: {seed} given, but the cells of {grid} are fixed; --grid fresh draws new ones"
        )
    return full() if grid == "full" else quick()


def chosen(cells: Sequence[Cell], words: Iterable[str]) -> list[Cell]:
    """Cells with all the levels that are named; of several levels of one factor any will do.

    Parameters
    ----------
    cells : sequence of Cell
    words : iterable of str
        Numbers of cells, and levels of factors such as ``fcfs``, ``tight``, ``0.9`` or ``rag``.

    Raises
    ------
    ConfigError
        If no cell has a level, or none has all of them.

    Examples
    --------
    >>> [cell.load_frac for cell in chosen(cells_of("full"), ["fcfs", "tight", "0.9", "l4"])]
    [0.9]
    """
    asked: dict[str, set[str]] = {}
    levels = {name: {str(getattr(cell, name)) for cell in cells} for name in _FACTORS}
    known = [level for name in _FACTORS for level in levels[name] if name != "number"]
    for word in words:
        factor = next((name for name in _FACTORS if word in levels[name]), None)
        if factor is None:
            near = checks.nearest(word, known)
            some = (sorted(levels[name]) for name in ("scheduler", "memory", "load_frac"))
            there = ", ".join(level for group in some for level in group)
            raise ConfigError(
                f"--only: no cell has {word!r}{near}; numbers of cells, or levels such as {there}"
            )
        asked.setdefault(factor, set()).add(word)
    kept = [c for c in cells if all(str(getattr(c, name)) in some for name, some in asked.items())]
    if not kept:
        raise ConfigError(f"--only: no cell has all of {', '.join(map(repr, words))}; name fewer of them")
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCells:
    """One JSON line a finished cell, on the disk before the next is waited for.

    Parameters
    ----------
    path : Path
    resume : bool
        True: cells that it holds are not done again; False: it is begun anew.
    """

    path: Path
    resume: bool

    def begin(self, cells: Sequence[Cell], effort: Effort) -> dict[int, Score]:
        """Scores that the file holds, by the place of their cell; a last line that was cut is dropped.

        Raises
        ------
        ConfigError
            If it holds something else.
        """
        if not self.path.exists():
            return {}
        if not self.resume:
            self.path.unlink()
            return {}
        places = {_key(cell, effort): place for place, cell in enumerate(cells)}
        found = {}
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                found[places[entry["key"]]] = Score.from_row(entry["score"])
            except (ValueError, TypeError, KeyError):
                raise ConfigError(
                    f"{self.path}: line {number} is not a cell of this comparison and version; "
                    "take the same words as before, or --force without --resume to begin again"
                ) from None
        return found

    def add(self, cell: Cell, effort: Effort, found: Score) -> None:
        """Write a finished cell and wait until it is on the disk."""
        entry = {"key": _key(cell, effort), "score": found.row()}
        try:
            with self.path.open("ab") as file:
                file.write(json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written ({error.strerror})") from None


def _key(cell: Cell, effort: Effort) -> str:
    said: list[Any] = [version(), asdict(cell), asdict(effort)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]


def agree(
    cells: Sequence[Cell],
    effort: Effort,
    *,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    kept: KeptCells | None = None,
    simulated: Mapping[int, Simulated] | None = None,
) -> list[Score]:
    """Score cells, in their order; the scores do not depend on the executor.

    Parameters
    ----------
    cells : sequence of Cell
    effort : Effort
    executor : concurrent.futures.Executor, optional
        Where cells are done (default: in this process).
    progress : callable, optional
        Called with the number of finished cells and of all.
    kept : KeptCells, optional
        Where finished cells go and come from.
    simulated : mapping, optional
        Simulated sides, with this effort, by the number of their cell; the others are simulated.
    """
    known = simulated or {}
    found = {} if kept is None else kept.begin(cells, effort)
    open_ = [place for place in range(len(cells)) if place not in found]

    def take(place: int, done: Score) -> None:
        found[place] = done
        if kept is not None:
            kept.add(cells[place], effort, done)
        if progress is not None:
            progress(len(found), len(cells))

    if executor is None:
        for place in open_:
            take(place, score(cells[place], effort, known.get(cells[place].number)))
    else:
        tasks = {
            executor.submit(score, cells[place], effort, known.get(cells[place].number)): place
            for place in open_
        }
        for task in as_completed(tasks):
            take(tasks[task], task.result())
    return [found[place] for place in range(len(cells))]
