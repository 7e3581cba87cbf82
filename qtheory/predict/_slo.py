"""Earliest deadline first with shedding, over the steps of chunked prefill; one limit for all requests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._backlog import Backlog
from ._cells import between
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
Shut = Callable[[Mesh], tuple[Floats, Floats]]

_RULE = Rule(mixed=True)
_FULL = 0.9  # share of the slots taken
_N_TIMES = 20
_ROUNDS = 2
_N_FULL = 12  # numbers running where no place is free
_RARE = 1e-6  # share of time


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
    backlog = _settled(setting, deadline_s, load, _at_first)
    if _is_tight(backlog.mesh) and _sheds(backlog):
        for _ in range(_ROUNDS):
            backlog = _settled(setting, deadline_s, load, _shut(backlog))
    point = steady_of(backlog)
    served = point.first.served
    found = columns_of([(1.0, point)], setting.slo)
    return found | {"goodput_frac": served * found["goodput_frac"], "shed_frac": 1 - served}


def _settled(setting: Setting, deadline_s: float, load: float, shut: Shut) -> Backlog:
    """The chain of those that stay, by how often there is no place for them."""

    def patience(mesh: Mesh) -> Thinned:
        return _patience(mesh, deadline_s, shut)

    return settled(setting.engine, _RULE, setting.rate_rps, patience=patience, load=load)


def _is_tight(mesh: Mesh) -> bool:
    """Whether there is no place every now and then."""
    return mesh.n_mean + 6 * math.sqrt(mesh.n_mean + 1) > mesh.engine.slots


def _at_first(mesh: Mesh) -> tuple[Floats, Floats]:
    """How often there is no place (n_w,), and the number running then, before anything is known: always, if
    most places are taken."""
    slots = mesh.engine.slots
    return np.full(mesh.n_w, float(mesh.n_mean > _FULL * slots)), np.full(mesh.n_w, slots)


def _sheds(backlog: Backlog) -> bool:
    """Whether there are states in which somebody would not stay if no place were free."""
    thinned = backlog.mesh.thinned
    if thinned is None:
        return False
    at_worst = replace(thinned, ways_frac=np.repeat([[0.0], [1.0]], thinned.n, axis=1))
    some = at_worst.accepted(thinned.times_s[-1:])[0].min(axis=1) < 1
    return float(backlog.in_time.sum(axis=1)[some].sum()) > _RARE


def _shut(backlog: Backlog) -> Shut:
    """How often there is no place (n_w,) for what a step leaves behind, and the number running then."""
    mesh, left = backlog.mesh, backlog.mesh.left.ravel()
    shut = mesh.x > mesh.engine.slots - mesh.joining / 2
    whole, some, running = (
        np.bincount(left, (backlog.in_time * part).ravel(), mesh.n_w)
        for part in (np.ones_like(mesh.x), shut, shut * mesh.x)
    )
    known, meant = whole > _RARE, some > _RARE
    cells = mesh.cell * np.arange(float(mesh.n_w))

    def at(other: Mesh) -> tuple[Floats, Floats]:
        places = other.cell * np.arange(float(other.n_w))
        if not meant.any():
            return np.zeros(other.n_w), np.full(other.n_w, other.engine.slots)
        share = np.interp(places, cells[known], some[known] / whole[known])
        return share, np.interp(places, cells[meant], running[meant] / some[meant])

    return at


def _patience(mesh: Mesh, deadline_s: float, shut: Shut) -> Thinned:
    """Who stays: whose prompt alone can still be in time when the step begins in which it gets its turn.

    That is the first step with room for it; where no place is free, when those ahead and it have one.
    """
    busy, slots = min(mesh.n_mean, mesh.engine.slots), mesh.engine.slots
    cells = np.arange(mesh.n_w)
    full_steps = cells // mesh.full_cells * mesh.full_cells  # then the last ones leave room
    shut_frac, running = shut(mesh)
    nodes = np.append(busy, np.linspace(max(slots, busy) + 0.5, 1.5 * slots + 2, _N_FULL))
    done = clearing_s(mesh, nodes, mesh.cell / FINE, mesh.n_w * FINE)
    last = mesh.table.prompt_s(np.array([slots]), np.array([1 / FINE]))
    low_node, share = between(nodes, running)
    row = np.minimum(cells * FINE + 1, len(done) - 1)
    by_place = (1 - share) * done[row, low_node] + share * done[row, low_node + 1]
    by_place = np.maximum(by_place - last, 0.0)
    low, high = float(mesh.seconds.min()), float(mesh.seconds.max())
    return Thinned(
        engine=mesh.engine,
        rate_rps=mesh.rate_rps,
        cell=mesh.cell,
        deadline_s=deadline_s,
        cleared_s=np.array([done[full_steps * FINE, 0], by_place]),
        ways_frac=np.array([1 - shut_frac, shut_frac]),
        alone_s=_alone_s(mesh.engine),
        latest_s=deadline_s + _longer_s(mesh),
        times_s=np.append(0.0, np.geomspace(0.99 * low, 1.2 * high, _N_TIMES)),
    )


def _longer_s(mesh: Mesh) -> float:
    """By how much a prompt takes longer at most in full steps beside others than alone."""
    running = min(mesh.n_mean, mesh.engine.slots)
    room = _RULE.room_tokens(mesh.engine, running)
    steps = np.ceil(mesh.engine.demand.prompt_tokens / room)
    return float((steps * mesh.engine.step_s(room, running) - _alone_s(mesh.engine)).max())


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
