"""What is compared, and how far apart it may be."""

from __future__ import annotations

from .grid import Cell

__all__ = ["KNEE_SHARP_FRAC", "METRICS", "TOLERANCES", "tolerance"]

METRICS = (
    "mean_ttft_s", "p50_ttft_s", "p90_ttft_s", "p99_ttft_s", "mean_tpot_s", "p50_tpot_s", "p90_tpot_s",
    "p99_tpot_s", "mean_itl_s", "p99_itl_s", "mean_e2e_s", "p99_e2e_s",
)  # fmt: skip
"""What is compared as a relative error; goodput is compared as a difference."""

TOLERANCES = {"mean_ttft_s": 0.06, "mean_tpot_s": 0.06, "p99_ttft_s": 0.12, "p99_tpot_s": 0.12}
"""Largest relative error up to a load of 0.8; twice that at 0.9; above, errors are listed, not judged."""

KNEE_SHARP_FRAC = 0.01
"""Half-width that a simulated knee needs: a third of the 3 % that a prediction may be off. Where memory binds
8 % are allowed, but that it does is said by the theory, which has no say in what is simulated."""


def tolerance(cell: Cell, metric: str) -> float:
    """Largest relative error of a metric in a cell.

    Parameters
    ----------
    cell : Cell
    metric : str
        One of `TOLERANCES`.
    """
    return TOLERANCES[metric] * (2 if cell.load_frac > 0.8 else 1)
