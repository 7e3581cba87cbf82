"""Those that must be late leave: the chain of chunked prefill with arrivals of which some do not stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.steptime import StepLoad, StepTime

from ._backlog import Backlog
from ._mesh import Mesh
from ._numeric import columns_of, steady_of
from ._setting import Setting
from ._settled import settled
from ._steps import Rule
from ._thinned import Thinned
from ._thinned_first import turns_of
from .inputs import Engine
from .limits import limit_of

__all__ = ["alone_s", "shed_columns", "solved"]

Floats = NDArray[np.float64]

_N_TIMES = 12
_WIDE = 3.0  # standard deviations of what runs
_NEAR = 0.7  # load from which what runs may be what runs at the limit
_BELOW = (20.0, 8.0, 3.0, 0.0)  # places that are free, of nodes
_ABOVE = (0.3, 1.0)  # of those that get free within the deadline, too few places at a node


def shed_columns(setting: Setting, rule: Rule, deadline_s: float) -> dict[str, Any]:
    """Columns of a point: with one limit for all the earliest deadline is the first arrival.

    A request leaves when what is left of its time is less than its prompt needs alone; so of those that find
    w ahead and so many running a share stays that depends on both.
    """
    point = steady_of(solved(setting, rule, deadline_s))
    served = point.first.served
    found = columns_of([(1.0, point)], setting.slo)
    return found | {"goodput_frac": served * found["goodput_frac"], "shed_frac": 1 - served}


def solved(setting: Setting, rule: Rule, deadline_s: float) -> Backlog:
    """The chain of those that stay, solved."""
    limit = limit_of(setting.in_order, rule)
    load = setting.rate_rps / limit.rate_rps
    most = limit.running if load > _NEAR else 0.0
    engine = _counted(setting, min(load, 1.0) * limit.running)

    def patience(mesh: Mesh) -> Thinned:
        return _patience(mesh, deadline_s, most)

    return settled(engine, rule, setting.rate_rps, patience=patience, load=load)


def _counted(setting: Setting, running: float) -> Engine:
    """The engine, with memory counted by what each request holds if that may reach its end.

    Else it is the number running that matters, whose law is narrower than that of what they hold.
    ``running``: in the mean at most.
    """
    engine = setting.in_order
    wider = max(engine.work.spread, 1.0)
    reached = running + _WIDE * math.sqrt(wider) * _spread(engine, running) > engine.slots
    return engine if reached else setting.engine


def _patience(mesh: Mesh, deadline_s: float, most: float) -> Thinned:
    """Who stays: whose prompt alone can still be in time when the step begins in which it gets its turn.

    ``most``: what runs at the limit, if the load is near it. Times are the closer the less of a step is left,
    and close in long steps too, in which most of those come that are shed.
    """
    nodes = _nodes(mesh, deadline_s, most)
    return Thinned(
        engine=mesh.engine,
        rate_rps=mesh.rate_rps,
        cell=mesh.cell,
        deadline_s=deadline_s,
        nodes=nodes,
        turns=turns_of(mesh, nodes, mesh.n_w),
        alone_s=alone_s(mesh.engine),
        times_s=1.1 * float(mesh.seconds.max()) * np.linspace(0.0, 1.0, _N_TIMES + 1) ** 2,
    )


def _nodes(mesh: Mesh, deadline_s: float, most: float) -> Floats:
    """Numbers running at which patience is told apart: all that the law reaches."""
    engine, n = mesh.engine, mesh.n_mean
    low, top = max(n - _WIDE * _spread(engine, n), 0.0), max(n + _WIDE * _spread(engine, n), most)
    if top + _WIDE * _spread(engine, top) < engine.slots - mesh.joining:  # places for all
        return np.unique([low, n, top])
    stays_s = engine.demand.mean_decode * engine.decode_s(engine.slots)
    freed = max(engine.slots * deadline_s / max(stays_s, 1e-12), 3.0)
    below = mesh.shut - mesh.joining * np.array(_BELOW)
    above = mesh.shut + mesh.joining * np.array([0.01, *(share * freed for share in _ABOVE)])
    open_ = np.array([low, n])[np.array([low, n]) < below[0] - 1]
    if below[0] > 2 * low + 10:
        open_ = np.append(open_, (below[0] + open_.max(initial=0.0)) / 2)
    return np.unique(np.concatenate([open_, below, above]).clip(0.0))


def _spread(engine: Engine, n: float) -> float:
    """Standard deviation of what runs, if arrivals come in bursts that last."""
    return math.sqrt((n + 1) * max((1 + engine.demand.lasting) / 2, 1.0))


def alone_s(engine: Engine) -> Floats:
    """Seconds (k,) of each prompt alone in steps of the whole budget, each part as deep as it lies."""
    tokens, budget = engine.demand.prompt_tokens, float(engine.budget_tokens)
    found = np.zeros(len(tokens))
    for done in np.arange(0.0, float(tokens.max()), budget):
        some = tokens > done
        rest = tokens[some] - done
        n = np.minimum(rest, budget)
        none = np.zeros_like(n)
        load: tuple[Floats, ...] = (
            none,
            none,
            n,
            n * done + n * (n + 1) / 2,
            done + n,
            (rest <= budget).astype(float),
        )
        found[some] += _steps_s(engine.step_time, load)
    return found


def _steps_s(step_time: StepTime, load: tuple[Floats, ...]) -> Floats:
    """Seconds (k,) of steps, at once where the step time can."""
    many = getattr(step_time, "steps_s", None)
    if many is not None:
        return np.asarray(many(load))
    return np.array([step_time.step_s(StepLoad(*each)) for each in zip(*load, strict=True)])
