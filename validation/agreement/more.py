"""Cells and knees of the full design that are not kept yet: which come next, each kept when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from pathlib import Path

from .effort import EFFORTS
from .grid import Cell, full
from .simulated import Simulated, lacks_knee, simulate_cell, with_knee
from .simulations import SIMULATIONS, Simulations, add_simulations, read_simulations

__all__ = ["simulate_more", "to_simulate"]


def to_simulate(cells: Sequence[Cell], kept: Simulations, n: int) -> list[Cell]:
    """The next ``n`` cells that are not kept, of all schedulers in turn and none by choice.

    Cells that are kept but for their knee come before them.

    Parameters
    ----------
    cells : sequence of Cell
        Of the full design.
    kept : Simulations
    n : int
        Fewer are given if fewer are missing.

    Examples
    --------
    >>> [cell.scheduler for cell in to_simulate(full(), Simulations(), 3)]
    ['fcfs', 'chunked', 'slo']
    """
    each = len(full()) // len({cell.scheduler for cell in full()})
    without = {number for number, one in kept.cells.items() if lacks_knee(one, EFFORTS["full"])}
    missing = [cell for cell in cells if cell.number not in kept.cells or cell.number in without]
    place = {cell.number: 7 * (cell.number % each) % each for cell in missing}
    return sorted(missing, key=lambda c: (c.number not in without, place[c.number], c.number))[:n]


def simulate_more(
    cells: Sequence[Cell],
    *,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    path: Path = SIMULATIONS,
) -> None:
    """Simulate cells of the full design, or the knee that one lacks, and keep each as soon as it is done.

    Parameters
    ----------
    cells : sequence of Cell
    executor : concurrent.futures.Executor, optional
        Where cells are done (default: in this process).
    progress : callable, optional
        Called with the number of finished cells and of all.
    path : Path
        Where they are kept.

    Raises
    ------
    ConfigError
        If what is kept cannot be read or written; before anything is simulated.
    """
    add_simulations([], path)
    known = read_simulations(path).cells
    tried = [(cell, known.get(cell.number)) for cell in cells]
    if executor is None:
        found = (_simulated(*each) for each in tried)
    else:
        tasks = [executor.submit(_simulated, *each) for each in tried]
        found = (task.result() for task in as_completed(tasks))
    for done, one in enumerate(found, 1):
        add_simulations([one], path)
        if progress is not None:
            progress(done, len(cells))


def _simulated(cell: Cell, known: Simulated | None) -> Simulated:
    effort = EFFORTS["full"]
    if known is not None and lacks_knee(known, effort):
        return with_knee(known, effort)
    return simulate_cell(cell, effort)
