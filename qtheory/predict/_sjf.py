"""Shortest predicted output first, over the steps of chunked prefill."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._closed import formulas_of
from ._first_token import FirstToken, first_token, first_tokens
from ._numeric import Steady, columns_of, decoded, gap_of
from ._per_token import DecodeAtoms
from ._setting import Setting
from ._settled import settled
from ._starved import served_part
from ._steps import Rule
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)
_MOST_LOAD = 0.995
_SAFE_LOAD = 0.95  # of the chain above the limit: nearer to 1 small errors of its limit are large ones
_CLASSES = (0.0, 0.25, 0.5, 0.75, 0.92, 1.0)
_FINE_CLASSES = (0.0, 0.25, 0.5, 0.75, 0.85, 0.92, 0.95, 0.97, 0.98, 0.99, 1.0)


def limit(setting: Setting) -> Limit:
    """Stability limit: that of chunked prefill, since the order changes neither steps nor batch."""
    return limit_of(setting.engine, _RULE)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns: the chain of chunked prefill, its waits stretched by what the order does to each output
    length."""
    found = limit(setting)
    if setting.rate_rps < found.rate_rps:
        return _steady(setting, found)[0]
    part = served_part(setting.engine, _RULE, setting.rate_rps)
    below = replace(setting, engine=part.engine, rate_rps=_SAFE_LOAD * part.limit.rate_rps)
    columns, served = _steady(below, part.limit, full_gap_s=part.gap_s)
    return _of_all(columns, part.share * served)


def _steady(
    setting: Setting, found: Limit, *, full_gap_s: float | None = None
) -> tuple[dict[str, Any], float]:
    """Columns of those that are served, and their share: all, unless there is always somebody to serve, when
    the mean gap between tokens is given."""
    backlog = settled(setting.engine, _RULE, setting.rate_rps)
    base = first_token(backlog)
    decode, factor = decoded(backlog, base, _behind(backlog, base))
    full = full_gap_s is not None
    points, classes = [], _classes(setting, found, _for_place(backlog), full=full)
    served = sum(share for *_, share in classes)
    classes = [(low, high, ratio, share / served) for low, high, ratio, share in classes]
    factor = factor if full_gap_s is None else factor * full_gap_s / gap_of(backlog)
    firsts = first_tokens(backlog, [ratio for _, _, ratio, _ in classes])
    for first, (low, high, _, share) in zip(firsts, classes, strict=True):
        part = _part(decode, low, high, share)
        points.append((share, Steady(backlog=backlog, first=first, decode=part, by_little=factor)))
    return columns_of(points, setting.slo), served


def _of_all(columns: dict[str, Any], served: float) -> dict[str, Any]:
    """Goodput as a share of all that arrive; those that are never served count as given up."""
    return columns | {"goodput_frac": served * columns["goodput_frac"], "shed_frac": 1 - served}


def _classes(
    setting: Setting, found: Limit, for_place: float, *, full: bool = False
) -> list[tuple[float, float, float, float]]:
    """Outputs above ``low`` and up to ``high`` steps, their wait to that in order of arrival [1]_, share.

    Nobody in service is overtaken: (1 - rho) / ((1 - sigma before) (1 - sigma with them)), where sigma is the
    load of those served before: in prompt tokens while waits are for the budget, in decode steps for the
    share ``for_place`` of the waits that are for a slot or memory.

    References
    ----------
    .. [1] Phipps (1956), "Machine repair as a priority waiting-line problem", Operations Research 4, 76-85.
    """
    demand = setting.engine.demand
    steps, weights, prompts = demand.decode_groups
    one = demand.one_token_prob
    if one > 0:
        steps, weights = np.append(0.0, steps), np.append(one, weights)
        prompts = np.append(demand.prompt_given_decode[0], prompts)
    loads = [setting.rate_rps / rate for rate in (_budget_rps(setting.engine, found), found.rate_rps)]
    works = weights * prompts, weights * np.maximum(steps, 1e-9)
    by_budget, by_place = (
        _ratios(load, work, found.rate_rps / setting.rate_rps if full else 1.0)
        for load, work in zip(loads, works, strict=True)
    )
    ratios = (1 - for_place) * by_budget + for_place * by_place
    below = np.concatenate([[0.0], np.cumsum(weights)])
    levels = np.array(_FINE_CLASSES if full else _CLASSES)[1:]
    cuts = np.unique(np.searchsorted(below[1:], levels * below[-1] - 1e-9) + 1)
    classes, first = [], 0
    for last in cuts:
        share = float(below[last] - below[first])
        ratio = float(ratios[first:last] @ weights[first:last]) / share
        low = -1.0 if first == 0 else float(steps[first - 1])
        classes.append((low, float(steps[last - 1]), ratio, share / below[-1]))
        first = int(last)
    return classes


def _ratios(load: float, work: Floats, more: float = 1.0) -> Floats:
    """Waits (k,) of kinds in the order of their service to those in order of arrival, by their work; of those
    at ``more`` times the load to these at the load, since nothing but the order depends on it."""
    load = min(load, _MOST_LOAD)
    sigma = min(load * more, _MOST_LOAD) * np.concatenate([[0.0], np.cumsum(work)]) / work.sum()
    return np.asarray((1 - load) / ((1 - sigma[:-1]) * (1 - sigma[1:])))


def _budget_rps(engine: Engine, found: Limit) -> float:
    """Requests a second whose prompts the budget holds beside as many decodes as there are at the limit."""
    if found.binds == "token budget":
        return found.rate_rps
    room = max(engine.budget_tokens - found.running, 1.0)
    return room / (engine.demand.mean_prompt * engine.step_s(room, found.running))


def _for_place(backlog: Backlog) -> float:
    """Share of the waiting tokens that wait for a place."""
    mesh = backlog.mesh
    waiting = backlog.in_time * np.arange(mesh.n_w)[:, None]
    shut = mesh.x > mesh.engine.slots - mesh.joining
    return float(waiting[shut].sum() / max(float(waiting.sum()), 1e-300))


def _behind(backlog: Backlog, first: FirstToken) -> Floats:
    """Tokens behind a request (g,) when it begins to decode, to those in order of arrival.

    Who overtakes has those behind it whom it overtakes, but fewer who came in its shorter wait: that is the
    same. Of those who came with it the ones with longer outputs are behind, in place of half of them.
    """
    demand, mesh = backlog.mesh.engine.demand, backlog.mesh
    mates = max(demand.burstiness - 1, 0.0)
    _, weights, _ = demand.decode_groups
    shorter = demand.one_token_prob + np.cumsum(weights) - weights / 2
    after = float(first.weights @ first.behind @ np.arange(mesh.n_w)) * mesh.cell / demand.mean_prompt
    return np.asarray(1 + mates * (0.5 - shorter) / max(after, mates / 2, 1e-9))


def _part(decode: DecodeAtoms, low: float, high: float, share: float) -> DecodeAtoms:
    """Decode times of the requests of these lengths."""
    some = (decode.steps > low) & (decode.steps <= high)
    return replace(
        decode,
        steps=decode.steps[some],
        step_weights=decode.step_weights[some] / share,
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
        rates = np.array([_SAFE_LOAD * part.limit.rate_rps])
        alone = _of_all(_closed_below(replace(setting, engine=part.engine), rates, full=True), part.share)
        for name, values in alone.items():
            columns.setdefault(name, np.zeros(len(rates_rps)))[place] = float(np.asarray(values).item())
    return columns


def _closed_below(setting: Setting, rates_rps: Floats, *, full: bool = False) -> dict[str, Floats]:
    """Columns below the limit."""
    formulas = formulas_of(setting.engine, _RULE)
    late = formulas.for_place(rates_rps)
    kinds = [
        _classes(replace(setting, rate_rps=float(rate)), formulas.limit, float(share), full=full)
        for rate, share in zip(rates_rps, late, strict=True)
    ]
    ratios = np.array([[ratio for _, _, ratio, _ in each] for each in kinds]).T  # (kinds, rates)
    shares = np.array([share for _, _, _, share in kinds[0]])
    return formulas.columns(rates_rps, setting.slo, stretch=(ratios, shares))
