"""The scenario of one row: what served, under the load of that row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario

from .measured import Row
from .sweep import Sweep

__all__ = ["FEWEST", "scenario_of"]

FEWEST = 2_000
"""Requests of a run that stands for a steady state, at least."""
_ROUNDS = 20  # of a closed loop of which the requests are not counted
_AT_ONCE_RPS = 1e9


def scenario_of(sweep: Sweep, row: Row) -> Scenario:
    """What to ask of simulator and theory for a row.

    Parameters
    ----------
    sweep : Sweep
    row : Row

    Raises
    ------
    ConfigError
        If the run is finite and the row does not say how long it was.

    Examples
    --------
    >>> from .manifest import SHIPPED, read_manifest
    >>> from .measured import read_rows
    >>> sweep = read_manifest(SHIPPED / "kubecon.toml")[0]
    >>> made = scenario_of(sweep, read_rows(sweep)[4])
    >>> made.rate_rps, made.requests, made.client_cap
    (122.59, 7355, 440)
    """
    changes: dict[str, Any] = {"requests": _requests(sweep, row), "duration_s": None}
    if sweep.takes_slots and row.slots:
        changes["max_seqs"] = row.slots
    if row.load == "closed_concurrency":
        return replace(sweep.scenario, arrivals=f"closed(concurrency={row.in_flight})", **changes)
    if row.load == "offline":
        return replace(sweep.scenario, arrivals="constant", rate_rps=_AT_ONCE_RPS, **changes)
    if sweep.takes_cv and row.arrival_cv is not None:
        cv = row.arrival_cv
        changes["arrivals"] = "constant" if cv == 0 else "poisson" if cv == 1 else f"gamma(cv={cv:g})"
    return replace(sweep.scenario, rate_rps=row.rate_rps, **changes)


def _requests(sweep: Sweep, row: Row) -> int:
    """Requests of a run: of a finite one as many as were sent, else enough for a steady state."""
    if sweep.is_finite:
        if row.rate_rps is not None and row.duration_s is not None and row.n_requests is None:
            return max(1, round(row.rate_rps * row.duration_s))
        if row.n_requests is None:
            raise ConfigError(f"{sweep.where}: line {row.line}: neither completed nor duration_s: how long?")
        return row.n_requests
    if sweep.scenario.requests is not None:
        return sweep.scenario.requests
    if row.load == "closed_concurrency":
        return row.n_requests or _ROUNDS * max(row.in_flight or 1, 10)
    return max(row.n_requests or 0, FEWEST)
