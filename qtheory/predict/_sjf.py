"""Shortest predicted output first, over the steps of chunked prefill."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._alike import Alike
from ._backlog import Backlog
from ._by_length import groups_of, place_ratios, prompt_waits
from ._closed import formulas_of
from ._first_token import first_token
from ._full_steps import FullSteps
from ._kinds import Kinds
from ._numeric import Steady, columns_of, decoded, gap_of
from ._outputs import Outputs, Waits, cuts_of, outputs_of
from ._per_token import DecodeAtoms
from ._place_share import place_share
from ._setting import Setting
from ._settled import settled
from ._starved import Served, served_part
from ._steps import Rule
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)
_SAFE_LOAD = 0.95
"""Of the chain, whose mesh cuts it off next to its limit; beyond, the order of service knows the load."""
_SAFER_LOAD = 0.9  # where it cuts it off even so
_HARDLY = 1e-6  # a state of such a share is left out
_THERE = 0.999  # a rate that is this near is that which was asked for


def limit(setting: Setting) -> Limit:
    """Stability limit: that of chunked prefill, since the order changes neither steps nor batch."""
    return limit_of(setting.engine, _RULE)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns: the chain of chunked prefill, its waits stretched by what the order does to each output
    length."""
    found = limit(setting)
    if setting.rate_rps < found.rate_rps:
        return _steady(setting, Served(share=1.0, engine=setting.engine, limit=found))
    part = served_part(setting.engine, _RULE, setting.rate_rps)
    alone = replace(setting, engine=part.engine, rate_rps=part.limit.rate_rps)
    return _of_all(_steady(alone, part), part.share)


def _steady(setting: Setting, part: Served) -> dict[str, Any]:
    """Columns of those that are served, at a rate up to their limit."""
    chain = _chain_of(setting.engine, setting.rate_rps, part)
    backlog, found = chain.backlog, chain.found
    rate_rps = backlog.mesh.rate_rps
    load = rate_rps / part.limit.rate_rps
    beyond = max((setting.rate_rps / part.limit.rate_rps - load) / (1 - load), 0.0)
    full = FullSteps(backlog)
    states = [(1 - beyond, full.bounded(chain.decode, chain.factor), chain.factor)]
    if beyond > 0:
        states += [(beyond * share, decode, by) for share, decode, by in _always_full(chain, full, part)]
    parts = outputs_of(Waits(found, part.limit, setting.rate_rps / rate_rps))
    points = [
        (share * some.share, Steady(backlog=backlog, first=first, decode=_part(each, some), by_little=scale))
        for first, some in zip(found.laws([some.kind for some in parts]), parts, strict=True)
        for share, each, scale in states
    ]
    columns: dict[str, Any] = columns_of(points, setting.slo)
    aim_rps = min(setting.rate_rps, _SAFE_LOAD * part.limit.rate_rps)
    if rate_rps < _THERE * aim_rps:
        columns["warnings"] = (
            f"so close to the limit the chain holds no waits: it is asked at a load of {load:.2f}, and only "
            "the order of service and the share of full steps know the rest",
        )
    if beyond > 0 and "mean_itl_s" in columns:
        gap_s = (1 - beyond) * gap_of(backlog) + beyond * part.gap_s
        columns["mean_itl_s"] = gap_s
        columns["mean_decoding"] = setting.rate_rps * setting.engine.demand.mean_decode * gap_s
    return columns


@dataclass(frozen=True, kw_only=True, eq=False)
class _Chain:
    """The chain of chunked prefill, and what follows from it at any rate."""

    backlog: Backlog
    found: Kinds
    decode: DecodeAtoms
    factor: float

    @classmethod
    def of(cls, backlog: Backlog, limit: Limit) -> _Chain:
        base = first_token(backlog)
        found = Kinds(backlog, base)
        decode, factor = decoded(backlog, base, Waits(found, limit).behind)
        return cls(backlog=backlog, found=found, decode=decode, factor=factor)


def _chain_of(engine: Engine, rate_rps: float, part: Served) -> _Chain:
    """The chain of those that are served: the same one for all rates near the limit."""
    if part.share == 1 and rate_rps >= _SAFE_LOAD * part.limit.rate_rps:
        return _near_limit(Alike(engine))
    return _Chain.of(_below(engine, rate_rps, part.limit), part.limit)


@lru_cache(maxsize=2)
def _near_limit(alike: Alike) -> _Chain:
    """The chain of all requests as near to their limit as it goes."""
    found = limit_of(alike.engine, _RULE)
    return _Chain.of(_below(alike.engine, np.inf, found), found)


def _below(engine: Engine, rate_rps: float, found: Limit) -> Backlog:
    """The chain at the rate, or as near to it as its mesh holds the waits; waits for memory grow in another
    way up to the limit, so that nothing follows from those far below it."""
    rate_rps = min(rate_rps, _SAFE_LOAD * found.rate_rps)
    try:
        return settled(engine, _RULE, rate_rps)
    except ConvergenceError:
        if rate_rps <= _SAFER_LOAD * found.rate_rps or engine.is_kv_limited:
            raise
    return settled(engine, _RULE, _SAFER_LOAD * found.rate_rps)


def _always_full(chain: _Chain, full: FullSteps, part: Served) -> list[tuple[float, DecodeAtoms, float]]:
    """Shares, decode times, and by what to multiply them, while there is always somebody to serve: each step
    spends the budget, or has its mean gap."""
    by_place = place_share(part.engine)
    slower = chain.factor * part.gap_s / max(gap_of(chain.backlog), 1e-300)
    states = [
        (1 - by_place, full.always(chain.decode, part.gap_s), 1.0),
        (by_place, full.bounded(chain.decode, slower), slower),
    ]
    return [state for state in states if state[0] > _HARDLY]


def _of_all(columns: dict[str, Any], served: float) -> dict[str, Any]:
    """Goodput as a share of all that arrive; those that are never served count as given up."""
    return columns | {"goodput_frac": served * columns["goodput_frac"], "shed_frac": 1 - served}


def _part(decode: DecodeAtoms, outputs: Outputs) -> DecodeAtoms:
    """Decode times of the requests of these lengths."""
    some = (decode.steps > outputs.low) & (decode.steps <= outputs.high)
    return replace(
        decode,
        steps=decode.steps[some],
        step_weights=decode.step_weights[some] / outputs.share,
        seconds=decode.seconds[:, some],
        mass=decode.mass[:, some],
        mean_s=decode.mean_s[:, some],
    )


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns by formulas: those of chunked prefill with waits stretched by output length."""
    below = rates_rps < limit(setting).rate_rps
    found = _closed_below(setting, rates_rps[below]) if below.any() else {}
    columns = {name: np.zeros(len(rates_rps)) for name in found} | {"shed_frac": np.zeros(len(rates_rps))}
    for name, values in found.items():
        columns[name][below] = values
    for place in np.nonzero(~below)[0]:
        part = served_part(setting.engine, _RULE, float(rates_rps[place]))
        rates = np.array([part.limit.rate_rps])
        alone = _of_all(_closed_below(replace(setting, engine=part.engine), rates), part.share)
        for name, values in alone.items():
            columns.setdefault(name, np.zeros(len(rates_rps)))[place] = float(np.asarray(values).item())
    return columns


def _closed_below(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns up to the limit."""
    formulas = formulas_of(setting.engine, _RULE, setting.workload.arrivals)
    safe_rps = np.minimum(rates_rps, _SAFE_LOAD * formulas.limit.rate_rps)
    kinds = [
        _ratios(setting.engine, formulas.limit, float(safe), float(rate / safe), float(share))
        for safe, rate, share in zip(safe_rps, rates_rps, formulas.for_place(safe_rps), strict=True)
    ]
    ratios = np.array([each for each, _ in kinds]).T  # (kinds, rates)
    return formulas.columns(safe_rps, setting.slo, stretch=(ratios, kinds[0][1]))


def _ratios(
    engine: Engine, found: Limit, rate_rps: float, more: float, for_place: float
) -> tuple[Floats, Floats]:
    """Waits of kinds at ``more`` times a rate to those in order of arrival at it, and shares of the kinds;
    ``for_place`` of the waits are for a slot or memory."""
    demand = engine.demand
    _, weights, _ = groups_of(demand)
    waits = prompt_waits(engine, rate_rps / _budget_rps(engine, found), 1.0, more)
    mates = (demand.mean_batch - 1) * demand.mean_prompt
    by_budget = (waits.tokens + waits.mates * demand.mean_prompt) / (waits.in_order_tokens + mates)
    by_place = place_ratios(demand, rate_rps / found.rate_rps, np.inf, more)
    ratios = (1 - for_place) * by_budget + for_place * by_place
    cuts = cuts_of(weights)
    shares = np.array([weights[first:last].sum() for first, last in cuts])
    means = [float(ratios[first:last] @ weights[first:last]) for first, last in cuts]
    return np.array(means) / shares, shares


def _budget_rps(engine: Engine, found: Limit) -> float:
    """Requests a second whose prompts the budget holds beside as many decodes as there are at the limit."""
    room = max(engine.budget_tokens - found.running, 1.0)
    return room / (engine.demand.mean_prompt * engine.step_s(room, found.running))
