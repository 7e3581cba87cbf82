"""Shedding in closed form: by the own prompt, by those ahead of it, and for want of a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._closed import formulas_of
from ._setting import Setting
from ._shedding import alone_s
from ._steps import Rule
from .demand import Demand
from .inputs import Engine

__all__ = ["shed_formulas"]

Floats = NDArray[np.float64]

_HALVINGS = 14
_MOST_LOAD = 0.99  # of those that stay


def shed_formulas(setting: Setting, rule: Rule, rates_rps: Floats, deadline_s: float) -> dict[str, Floats]:
    """Columns of those that stay, an array over the rates each; goodput is a share of all.

    Prompts that take longer alone than there is time never stay, so the others have steps and waits without
    them. Of these stays who has few enough ahead, and finds a place before it is too late.
    """
    engine, share = _possible(setting.engine, deadline_s)
    formulas = formulas_of(engine, rule, setting.workload.arrivals, kept_frac=share)
    patient = replace(formulas, waits=replace(formulas.waits, for_places=False))
    asking, most = rates_rps * share, _MOST_LOAD * formulas.limit.rate_rps
    low, high = np.zeros_like(asking), np.minimum(asking, most)
    for _ in range(_HALVINGS):  # the more stay, the fewer of them are in time
        kept = (low + high) / 2
        state = patient.state(kept)
        inside = patient.waits.first_token(kept, state).within(deadline_s)
        if (
            formulas.limit.binds != "token budget"
        ):  # a place is needed in what the own prompt leaves of the time
            own_s = engine.demand.prompt_groups[1] @ patient.costs.own_at(state["n"])
            left_s = np.maximum(deadline_s - own_s, 0.01 * deadline_s)
            inside = inside * (1 - patient.waits.no_place(asking * inside, state, left_s))
        more = asking * inside > kept
        low, high = np.where(more, kept, low), np.where(more, high, kept)
    kept = (low + high) / 2
    columns = patient.columns(kept, setting.slo)
    good = columns["goodput_frac"] / np.maximum(columns["ttft_good_frac"], 1e-9)
    return columns | {"goodput_frac": kept / rates_rps * good, "shed_frac": 1 - kept / rates_rps}


def _possible(engine: Engine, deadline_s: float) -> tuple[Engine, float]:
    """The requests whose prompts alone are in time, as if no others came, and their share."""
    alone = alone_s(engine)
    some = alone <= deadline_s
    demand = engine.demand
    share = float(demand.prompt_probs[some].sum())
    if share <= 0:
        raise ConvergenceError(
            f"ttft_slo_s: {deadline_s:g}: the shortest prompt takes {float(alone.min()):.3g} s alone, "
            "so all are shed"
        )
    return (engine, 1.0) if share >= 1 else (replace(engine, demand=_only(demand, some, share)), share)


def _only(demand: Demand, some: NDArray[np.bool_], share: float) -> Demand:
    """The demand of the requests with some of the prompts, their outputs as those of all."""
    prompts, probs = demand.prompt_tokens[some], demand.prompt_probs[some] / share
    shorter = float(prompts @ probs) / demand.mean_prompt
    paired = demand.paired_prompts
    return replace(
        demand,
        prompt_tokens=prompts,
        prompt_probs=probs,
        prompt_decode=demand.prompt_decode * shorter,
        paired_prompts=None if paired is None else paired * shorter,
        paired_squares=None,
        burstiness=1 + share * (demand.burstiness - 1),
    )
