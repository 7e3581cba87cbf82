"""The chain on cells and levels that reach as far as its law does."""

from __future__ import annotations

from qtheory.basics.errors import ConvergenceError

from ._backlog import Backlog, solve_backlog
from ._drafts import Patience, make_mesh
from ._steps import Rule
from .inputs import Engine

__all__ = ["settled"]

_BEYOND, _BEYOND_ALONE = 1e-3, 5e-3  # share of time in the last cells; prompts that run alone need fine ones
_CUT_OFF = 1e-2  # with this much there, the law is that of the mesh
_LITTLE = 0.25  # of what is lost: coarser cells would lose more than that again
_LAST = 3
_WIDER = (1.8, 3.2)


def settled(
    engine: Engine, rule: Rule, rate_rps: float, *, patience: Patience | None = None, load: float = 0.0
) -> Backlog:
    """Law of the chain; while much of it lies in the last cells, again with cells that reach further.

    What waits reaches further than at any fixed number running, since many that run make a queue and a queue
    makes many run. Cells that reach further are coarser, and may lose more of the work than they catch of the
    law: what is cut off and what is lost together decide.
    """
    most = _BEYOND if rule.mixed else _BEYOND_ALONE
    tried = [solve_backlog(make_mesh(engine, rule, rate_rps, patience=patience, load=load))]
    for wider in _WIDER:
        cut_off = _at_end(tried[-1])
        if cut_off < max(most, _LITTLE * abs(tried[-1].decoded_share - 1)):
            break
        mesh = make_mesh(engine, rule, rate_rps, patience=patience, load=load, wider=wider)
        try:
            tried.append(solve_backlog(mesh))
        except ConvergenceError:
            break
    found = min(tried, key=lambda each: _at_end(each) + abs(each.decoded_share - 1))
    if _at_end(found) > _CUT_OFF:
        raise ConvergenceError(
            f"rate_rps={rate_rps:g}: what waits reaches beyond the mesh, so close is the limit; "
            "take the closed tier, or simulate"
        )
    return found


def _at_end(found: Backlog) -> float:
    """Share of time in the last cells."""
    return float(found.in_time[-_LAST:].sum())
