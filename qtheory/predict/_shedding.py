"""Those that must be late leave: the chain of chunked prefill with arrivals of which some do not stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._mesh import Mesh
from ._numeric import columns_of, steady_of
from ._setting import Setting
from ._settled import settled
from ._steps import Rule
from ._thinned import Thinned
from ._thinned_first import turns_of
from .inputs import Engine

__all__ = ["alone_s", "shed_columns"]

Floats = NDArray[np.float64]

_N_TIMES = 12
_BELOW = (20.0, 8.0, 3.0, 0.0)  # places that are free, of nodes
_ABOVE = (0.3, 1.0)  # of those that get free within the deadline, too few places at a node


def shed_columns(setting: Setting, rule: Rule, deadline_s: float, load: float) -> dict[str, Any]:
    """Columns of a point: with one limit for all the earliest deadline is the first arrival.

    A request leaves when what is left of its time is less than its prompt needs alone; so of those that find
    w ahead and so many running a share stays that depends on both.
    """

    def patience(mesh: Mesh) -> Thinned:
        return _patience(mesh, deadline_s)

    backlog = settled(setting.engine, rule, setting.rate_rps, patience=patience, load=load)
    point = steady_of(backlog)
    served = _served(backlog, point.first.served)
    found = columns_of([(1.0, point)], setting.slo)
    return found | {"goodput_frac": served * found["goodput_frac"], "shed_frac": 1 - served}


def _served(backlog: Backlog, found: float) -> float:
    """Share of the arrivals that is served: by what is decoded, or without outputs by what arrivals find."""
    mean_decode = backlog.mesh.engine.demand.mean_decode
    if mean_decode <= 0:
        return found
    return min(backlog.decodes_per_s / (backlog.mesh.rate_rps * mean_decode), 1.0)


def _patience(mesh: Mesh, deadline_s: float) -> Thinned:
    """Who stays: whose prompt alone can still be in time when the step begins in which it gets its turn."""
    nodes = _nodes(mesh, deadline_s)
    low, high = float(mesh.seconds.min()), float(mesh.seconds.max())
    return Thinned(
        engine=mesh.engine,
        rate_rps=mesh.rate_rps,
        cell=mesh.cell,
        deadline_s=deadline_s,
        nodes=nodes,
        turns=turns_of(mesh, nodes, mesh.n_w),
        alone_s=alone_s(mesh.engine),
        times_s=np.append(0.0, np.geomspace(0.99 * low, 1.2 * high, _N_TIMES)),
    )


def _nodes(mesh: Mesh, deadline_s: float) -> Floats:
    """Numbers running at which patience is told apart."""
    engine, n = mesh.engine, mesh.n_mean
    if n + 6 * math.sqrt(n + 1) <= engine.slots:  # places for all
        return np.array([n, n + 1.0])
    stays_s = engine.demand.mean_decode * engine.decode_s(engine.slots)
    freed = max(engine.slots * deadline_s / max(stays_s, 1e-12), 3.0)
    below = mesh.shut - mesh.joining * np.array(_BELOW)
    above = mesh.shut + mesh.joining * np.array([0.01, *(share * freed for share in _ABOVE)])
    return np.unique(np.concatenate([below, above]).clip(0.0))


def alone_s(engine: Engine) -> Floats:
    """Seconds (k,) of each prompt alone in steps of the whole budget."""
    tokens, budget = engine.weighted_tokens, float(engine.budget_tokens)
    nodes = np.geomspace(1.0, budget, 40)
    step = np.interp(tokens % budget, nodes, [engine.step_s(t, 0.0) for t in nodes])
    return np.asarray(tokens // budget * engine.step_s(budget, 0.0) + step)
