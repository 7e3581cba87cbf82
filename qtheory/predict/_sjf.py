"""Shortest predicted output first, over the steps of chunked prefill."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._closed import formulas_of
from ._first_token import FirstToken, first_token, first_tokens
from ._numeric import Steady, columns_of, decoded
from ._per_token import DecodeAtoms
from ._setting import Setting
from ._settled import settled
from ._steps import Rule
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)
_MOST_LOAD = 0.995
_CLASSES = (0.0, 0.25, 0.5, 0.75, 0.92, 1.0)


def limit(setting: Setting) -> Limit:
    """Stability limit: that of chunked prefill, since the order changes neither steps nor batch."""
    return limit_of(setting.engine, _RULE)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns: the chain of chunked prefill, its waits stretched by what the order does to each output
    length."""
    backlog = settled(setting.engine, _RULE, setting.rate_rps)
    base = first_token(backlog)
    decode, factor = decoded(backlog, base, _behind(backlog, base))
    points, classes = [], _classes(setting, limit(setting), _for_place(backlog))
    firsts = first_tokens(backlog, [ratio for _, _, ratio, _ in classes])
    for first, (low, high, _, share) in zip(firsts, classes, strict=True):
        part = _part(decode, low, high, share)
        points.append((share, Steady(backlog=backlog, first=first, decode=part, by_little=factor)))
    return columns_of(points, setting.slo)


def _classes(setting: Setting, found: Limit, for_place: float) -> list[tuple[float, float, float, float]]:
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
    by_budget = _ratios(setting.rate_rps / _budget_rps(setting.engine, found), weights * prompts)
    by_place = _ratios(setting.rate_rps / found.rate_rps, weights * np.maximum(steps, 1e-9))
    ratios = (1 - for_place) * by_budget + for_place * by_place
    below = np.concatenate([[0.0], np.cumsum(weights)])
    cuts = np.unique(np.searchsorted(below[1:], np.array(_CLASSES[1:]) * below[-1] - 1e-9) + 1)
    classes, first = [], 0
    for last in cuts:
        share = float(below[last] - below[first])
        ratio = float(ratios[first:last] @ weights[first:last]) / share
        low = -1.0 if first == 0 else float(steps[first - 1])
        classes.append((low, float(steps[last - 1]), ratio, share / below[-1]))
        first = int(last)
    return classes


def _ratios(load: float, work: Floats) -> Floats:
    """Waits (k,) of kinds in the order of their service to those in order of arrival, by their work."""
    load = min(load, _MOST_LOAD)
    sigma = load * np.concatenate([[0.0], np.cumsum(work)]) / work.sum()
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
    formulas = formulas_of(setting.engine, _RULE)
    late = formulas.for_place(rates_rps)
    kinds = [
        _classes(replace(setting, rate_rps=float(rate)), formulas.limit, float(share))
        for rate, share in zip(rates_rps, late, strict=True)
    ]
    ratios = np.array([[ratio for _, _, ratio, _ in each] for each in kinds]).T  # (kinds, rates)
    shares = np.array([share for _, _, _, share in kinds[0]])
    return formulas.columns(rates_rps, setting.slo, stretch=(ratios, shares))
