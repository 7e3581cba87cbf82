"""Cells of the full design that are not kept yet: which come next, and each kept when it is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from pathlib import Path

from .effort import EFFORTS
from .grid import Cell, full
from .simulated import simulate_cell
from .simulations import SIMULATIONS, Simulations, add_simulations

__all__ = ["simulate_more", "to_simulate"]


def to_simulate(cells: Sequence[Cell], kept: Simulations, n: int) -> list[Cell]:
    """The next ``n`` cells that are not kept, of all schedulers in turn and none by choice.

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
    missing = [cell for cell in cells if cell.number not in kept.cells]
    return sorted(missing, key=lambda cell: (7 * (cell.number % each) % each, cell.number))[:n]


def simulate_more(
    cells: Sequence[Cell],
    *,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    path: Path = SIMULATIONS,
) -> None:
    """Simulate cells of the full design and keep each as soon as it is done.

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
    effort = EFFORTS["full"]
    add_simulations([], path)
    if executor is None:
        found = (simulate_cell(cell, effort) for cell in cells)
    else:
        tasks = [executor.submit(simulate_cell, cell, effort) for cell in cells]
        found = (task.result() for task in as_completed(tasks))
    for done, one in enumerate(found, 1):
        add_simulations([one], path)
        if progress is not None:
            progress(done, len(cells))
