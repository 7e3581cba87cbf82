"""Earliest deadline first with shedding, over the steps of chunked prefill; one limit for all requests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError

from ._backlog import Backlog
from ._clearing import turn_s
from ._closed import formulas_of
from ._first_token import met
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
Met = Callable[[Mesh], tuple[Floats, Floats]]

_RULE = Rule(mixed=True)
_FULL = 0.9  # share of the slots taken
_N_TIMES = 20
_ROUNDS = 2
_RARE = 1e-6  # share of time
_MOST_LOAD = 0.85  # of the formulas where slots or memory bind
_LEAST_FREED = 2.0  # places within the limit: the time until k get free varies by 1/sqrt(k), taken as none


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
    _check_places(setting, deadline_s)
    backlog = _settled(setting, deadline_s, load, _at_first)
    if _is_tight(backlog.mesh) and _sheds(backlog):
        for _ in range(_ROUNDS):
            backlog = _settled(setting, deadline_s, load, _met(backlog))
    point = steady_of(backlog)
    served = point.first.served
    found = columns_of([(1.0, point)], setting.slo)
    return found | {"goodput_frac": served * found["goodput_frac"], "shed_frac": 1 - served}


def _settled(setting: Setting, deadline_s: float, load: float, meets: Met) -> Backlog:
    """The chain of those that stay, by how often there is no place for them."""

    def patience(mesh: Mesh) -> Thinned:
        return _patience(mesh, deadline_s, meets)

    return settled(setting.engine, _RULE, setting.rate_rps, patience=patience, load=load)


def _is_tight(mesh: Mesh) -> bool:
    """Whether there is no place every now and then."""
    return mesh.n_mean + 6 * math.sqrt(mesh.n_mean + 1) > mesh.engine.slots


def _at_first(mesh: Mesh) -> tuple[Floats, Floats]:
    """Numbers running (ways,), and how often each (ways, n_w), before anything is known: no place is free if
    most are taken."""
    slots = mesh.engine.slots
    busy = min(mesh.n_mean, slots)
    is_full = float(mesh.n_mean > _FULL * slots)
    nodes = np.array([busy, max(slots, busy) + 0.5])
    return nodes, np.repeat([[1 - is_full], [is_full]], mesh.n_w, axis=1)


def _sheds(backlog: Backlog) -> bool:
    """Whether there are states in which somebody would not stay if no place were free."""
    thinned = backlog.mesh.thinned
    if thinned is None:
        return False
    last = np.zeros_like(thinned.ways_frac)
    last[-1] = 1.0
    at_worst = replace(thinned, ways_frac=last)
    some = at_worst.accepted(thinned.times_s[-1:])[0].min(axis=1) < 1
    return float(backlog.in_time.sum(axis=1)[some].sum()) > _RARE


def _met(backlog: Backlog) -> Met:
    """Numbers running that arrivals meet, by what is ahead of them."""
    mesh = backlog.mesh
    nodes, ahead = met(backlog)
    whole = ahead.sum(axis=0)
    known = whole > _RARE
    places, shares = mesh.cell * np.nonzero(known)[0], ahead[:, known] / whole[known]

    def at(other: Mesh) -> tuple[Floats, Floats]:
        cells = other.cell * np.arange(float(other.n_w))
        return nodes, np.array([np.interp(cells, places, share) for share in shares])

    return at


def _patience(mesh: Mesh, deadline_s: float, meets: Met) -> Thinned:
    """Who stays: whose prompt alone can still be in time when the step begins in which it gets its turn."""
    nodes, ways_frac = meets(mesh)
    low, high = float(mesh.seconds.min()), float(mesh.seconds.max())
    return Thinned(
        engine=mesh.engine,
        rate_rps=mesh.rate_rps,
        cell=mesh.cell,
        deadline_s=deadline_s,
        cleared_s=turn_s(mesh, nodes, mesh.n_w),
        ways_frac=ways_frac,
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
    """Columns by formulas: the rate is lowered to what can be in time.

    Their waits for a place know no deadline, so where slots or memory bind they end where those begin.
    """
    formulas, slo = formulas_of(setting.engine, _RULE), setting.slo
    _check_formulas(formulas.limit, rates_rps)
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


def _check_formulas(limit: Limit, rates_rps: Floats) -> None:
    """Raise near and above the limit where slots or memory bind."""
    rate_rps, most_rps = float(rates_rps.max()), _MOST_LOAD * limit.rate_rps
    if limit.binds != "token budget" and rate_rps > most_rps:
        raise ConfigError(
            f"rate_rps={rate_rps:g}: slo where {_what_binds(limit)} has no formulas above a load of "
            f"{_MOST_LOAD} ({most_rps:.4g} req/s); take the numeric tier, or simulate it"
        )


def _check_places(setting: Setting, deadline_s: float) -> None:
    """Raise near and above the limit where a place seldom gets free within the deadline.

    Who waits for one then waits for the end of a single request, which is chance; the chain knows the mean.
    """
    engine, bound = setting.engine, limit(setting)
    if bound.binds == "token budget" or setting.rate_rps <= _MOST_LOAD * bound.rate_rps:
        return
    stays_s = engine.demand.mean_decode * engine.decode_s(engine.slots)
    freed = engine.slots * deadline_s / max(stays_s, 1e-12)
    if freed < _LEAST_FREED:
        raise ConfigError(
            f"rate_rps={setting.rate_rps:g}: slo where {_what_binds(bound)} has no model above a load of "
            f"{_MOST_LOAD} ({_MOST_LOAD * bound.rate_rps:.4g} req/s) for outputs of {stays_s:.3g} s: "
            f"{freed:.2g} places get free within {deadline_s:g} s, fewer than {_LEAST_FREED:g}; simulate it"
        )


def _what_binds(bound: Limit) -> str:
    return f"{bound.binds} {'bind' if bound.binds.endswith('s') else 'binds'}"
