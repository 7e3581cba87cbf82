"""Earliest deadline first with shedding, over the steps of chunked prefill; one limit for all requests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._clearing import FINE, clearing_s
from ._closed import formulas_of
from ._mesh import Mesh, StepsAt
from ._numeric import columns_of, steady_of
from ._setting import Setting
from ._settled import settled
from ._steps import Rule
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)
_FULL = 0.9  # share of the slots taken
_CUTS = np.unique(np.concatenate([np.linspace(0.0, 1.0, 13), [0.95, 0.97, 0.98, 0.99, 0.995, 0.998]]))
"""Shares of the arrivals, by length, at which they are cut off."""


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
        patience=lambda draft: _longest(draft, deadline_s),
        load=load,
    )
    point = steady_of(backlog)
    served = point.first.served
    found = columns_of([(1.0, point)], setting.slo)
    return found | {"goodput_frac": served * found["goodput_frac"], "shed_frac": 1 - served}


def _longest(mesh: Mesh, deadline_s: float) -> Floats:
    """Tokens (n_w,) of the longest prompt that can be in time, by what is ahead: one of a few lengths."""
    slots = mesh.engine.slots
    busy = slots if mesh.n_mean > _FULL * slots else mesh.n_mean  # then who waits mostly waits for a place
    nodes = np.array([busy, busy + 1.0])
    full_steps = np.arange(mesh.n_w) // mesh.full_cells * mesh.full_cells  # then the last ones leave room
    cleared = clearing_s(mesh, nodes, mesh.cell / FINE, mesh.n_w * FINE)[full_steps * FINE, 0]
    rest = _rest_s(mesh)
    alone, demand = _alone_s(mesh.engine), mesh.engine.demand
    order = np.argsort(demand.prompt_tokens)
    below = np.cumsum(demand.prompt_probs[order])
    fitting = np.searchsorted(alone[order], deadline_s - cleared - rest, side="right")
    share = np.concatenate([[0.0], below])[fitting]
    nearest = _CUTS[np.argmin(np.abs(share[:, None] - _CUTS[None, :]), axis=1)]
    place = np.minimum(np.searchsorted(below, nearest - 1e-12), len(order) - 1)
    return np.asarray(np.where(nearest > 0, demand.prompt_tokens[order][place], 0.0))


def _rest_s(mesh: Mesh) -> Floats:
    """Mean seconds (n_w,) left of the step that an arrival finds, by the tokens that the step leaves."""
    chain = StepsAt.of(mesh, min(mesh.n_mean, mesh.engine.slots))
    left = np.arange(mesh.n_w) - chain.taken
    weight = chain.stationary * chain.seconds
    there = np.bincount(left, weight, mesh.n_w)
    whole = np.bincount(left, weight * chain.seconds / 2, mesh.n_w)
    return np.asarray(np.where(there > 1e-9, whole / np.maximum(there, 1e-9), chain.seconds[-1] / 2))


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
