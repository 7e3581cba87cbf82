"""Earliest deadline first with shedding, over the steps of chunked prefill; one limit for all requests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._clearing import FINE, clearing_s
from ._closed import formulas_of
from ._mesh import Mesh
from ._numeric import columns_of, steady_of
from ._setting import Setting
from ._settled import settled
from ._steps import Rule
from ._thinned import Thinned
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)
_FULL = 0.9  # share of the slots taken
_N_TIMES = 20


def limit(setting: Setting) -> Limit:
    """Stability limit without shedding; with it there is none."""
    return limit_of(setting.engine, _RULE)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns: the chain of chunked prefill in which those that must be late leave.

    With one limit for all the earliest deadline is the first arrival. A request leaves when what is left of
    its time is less than its prompt needs alone; so of those that find w ahead a share stays that depends on
    w.
    """
    deadline_s = setting.slo.ttft_s
    load = setting.rate_rps / limit(setting).rate_rps
    shed = setting.replica.scheduler.shed or "reject"
    if deadline_s is None or shed == "none":
        from ._chunked import numeric as without

        return without(setting)
    shortest_s = float(_alone_s(setting.engine).min())
    if shortest_s > deadline_s:
        raise ConvergenceError(
            f"ttft_slo_s: {deadline_s:g}: the shortest prompt takes {shortest_s:.3g} s alone, so all are shed"
        )
    backlog = settled(
        setting.engine,
        _RULE,
        setting.rate_rps,
        patience=lambda draft: _patience(draft, deadline_s),
        load=load,
    )
    point = steady_of(backlog)
    served = point.first.served
    found = columns_of([(1.0, point)], setting.slo)
    return found | {"goodput_frac": served * found["goodput_frac"], "shed_frac": 1 - served}


def _patience(mesh: Mesh, deadline_s: float) -> Thinned:
    """Who stays: whose prompt alone can still be in time when the step begins in which it gets its turn."""
    slots = mesh.engine.slots
    busy = slots if mesh.n_mean > _FULL * slots else mesh.n_mean  # then who waits mostly waits for a place
    nodes = np.array([busy, busy + 1.0])
    full_steps = np.arange(mesh.n_w) // mesh.full_cells * mesh.full_cells  # then the last ones leave room
    cleared = clearing_s(mesh, nodes, mesh.cell / FINE, mesh.n_w * FINE)[full_steps * FINE, 0]
    low, high = float(mesh.seconds.min()), float(mesh.seconds.max())
    return Thinned(
        engine=mesh.engine,
        rate_rps=mesh.rate_rps,
        cell=mesh.cell,
        deadline_s=deadline_s,
        cleared_s=cleared,
        alone_s=_alone_s(mesh.engine),
        times_s=np.append(0.0, np.geomspace(0.99 * low, 1.2 * high, _N_TIMES)),
    )


def _alone_s(engine: Engine) -> Floats:
    """Seconds (k,) of each prompt alone in steps of the whole budget."""
    tokens, budget = engine.weighted_tokens, float(engine.budget_tokens)
    nodes = np.geomspace(1.0, budget, 40)
    step = np.interp(tokens % budget, nodes, [engine.step_s(t, 0.0) for t in nodes])
    return np.asarray(tokens // budget * engine.step_s(budget, 0.0) + step)


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns by formulas: the rate is lowered to what can be in time."""
    formulas, slo = formulas_of(setting.engine, _RULE), setting.slo
    most = 0.97 * formulas.limit.rate_rps
    kept = np.minimum(rates_rps, most)
    sheds = slo.ttft_s is not None and setting.replica.scheduler.shed != "none"
    for _ in range(25 if sheds else 0):
        inside = formulas.first_token_within(kept, slo.ttft_s)
        kept = 0.5 * kept + 0.5 * np.minimum(rates_rps * inside, most)
    columns = formulas.columns(kept, slo)
    share = kept / rates_rps
    good = columns["goodput_frac"] / np.maximum(columns["ttft_good_frac"], 1e-9)
    return columns | {"goodput_frac": share * good, "shed_frac": 1 - share}
