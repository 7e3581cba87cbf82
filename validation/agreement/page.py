"""The tables of ``docs/agreement.md``: the theory of today against the simulations that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ._knee_simulated import METHOD
from .grid import SCHEDULERS, full
from .groups import bands_of, targets_of
from .score import Score
from .simulated import CONTROLLED
from .simulations import Simulations
from .text import band_table, summary_of, target_table

__all__ = ["TABLES", "tables_of"]

TABLES = ("cells", "targets", "bands")
"""Places of the page that are written."""


def tables_of(scores: Sequence[Score], kept: Simulations) -> dict[str, str]:
    """What stands in each place of the page.

    Parameters
    ----------
    scores : sequence of Score
        Of all cells that are kept.
    kept : Simulations
    """
    targets, bands = target_table(targets_of(scores)), band_table(bands_of(scores))
    return dict(zip(TABLES, (_cells(scores, kept), targets.markdown(), bands.markdown()), strict=True))


def _cells(scores: Sequence[Score], kept: Simulations) -> str:
    """How many there are, of what, and what became of them."""
    by_scheduler = Counter(one.cell.scheduler for one in scores)
    numbers = ", ".join(f"{by_scheduler[name]} {name}" for name in SCHEDULERS)
    counts = summary_of(scores)
    n = counts.pop("n_cells")
    verdicts = ", ".join(f"{k} {word}" for word, k in sorted(counts.items()))
    knees = [one.knee for one in kept.cells.values() if one.knee is not None]
    n_of_law = sum(one.is_of_law for one in knees)
    n_before = sum(one.is_of_law and one.method < METHOD for one in knees)
    freed = [sum(name in one.numbers for one in kept.cells.values()) for name in CONTROLLED.values()]
    served = sum(one.numbers.get("n_requests", 0.0) for one in kept.cells.values())
    versions = ", ".join(sorted(set(kept.versions.values())))
    there = "All" if n == len(full()) else f"{n} of the"
    return (
        f"{there} {len(full())} cells are simulated ({numbers}), by version {versions},\n"
        f"with {served / 1e6:.1f} million requests at their loads. "
        f"Verdicts of the numeric tier: {verdicts}.\n"
        f"Knees: {n_of_law} by runs on both sides ({n_before} of them by an earlier estimate from these), "
        f"{len(knees) - n_of_law} by the older bisection.\n"
        f"Mean TTFT is freed of chance in {freed[0]}, its 99th percentile in {freed[1]}."
    )
