"""How much is simulated for a comparison: by the design, and by a number that a person may give."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qtheory.basics import checks

__all__ = ["EFFORTS", "Effort", "effort_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Requests that are simulated for a cell.

    Parameters
    ----------
    first_requests : int
        Of the cell at its load, all replications together, to begin with.
    most_requests : int
        The same, at most: a cell that is not sharp enough with them is undecided.
    overload_requests : int
        For the throughput in overload.
    knee_requests : int
        For the knee in all, at most; 0: no knees.
    n_replications : int
        Independent runs that the requests are shared among, >= 2.
    seed : int
        Of the simulation.
    """

    first_requests: int
    most_requests: int
    overload_requests: int
    knee_requests: int
    n_replications: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        checks.at_least(2, n_replications=self.n_replications)
        checks.at_least(0, knee_requests=self.knee_requests)
        checks.integer(first_requests=self.first_requests, most_requests=self.most_requests)


EFFORTS = {
    "quick": Effort(first_requests=40_000, most_requests=160_000, overload_requests=60_000, knee_requests=0),
    "fresh": Effort(
        first_requests=80_000, most_requests=600_000, overload_requests=240_000, knee_requests=1_600_000
    ),
    "full": Effort(
        first_requests=80_000, most_requests=600_000, overload_requests=240_000, knee_requests=1_600_000
    ),
}
"""By the name of the design."""


def effort_of(grid: str, *, max_requests: int | None = None) -> Effort:
    """Effort of a design, with another number of requests at most.

    Parameters
    ----------
    grid : str
        One of `EFFORTS`.
    max_requests : int, optional
        Requests of a cell at its load at most.

    Raises
    ------
    ConfigError
        If the design is unknown or the number is too small.

    Examples
    --------
    >>> effort_of("quick", max_requests=8_000).first_requests
    8000
    """
    checks.one_of("grid", grid, EFFORTS)
    effort = EFFORTS[grid]
    if max_requests is None:
        return effort
    checks.at_least(1_000, max_requests=max_requests)
    first = min(effort.first_requests, max_requests)
    return replace(effort, first_requests=first, most_requests=max_requests)
