"""Shedding in closed form: by the own prompt, by those ahead of it, and for want of a place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError

from ._closed import Formulas, formulas_of
from ._patient_waits import PatientWaits
from ._setting import Setting
from ._shedding import alone_s
from ._steps import Rule
from .demand import Demand
from .inputs import Engine

__all__ = ["shed_formulas"]

Floats = NDArray[np.float64]

_MOST_TRIES, _NEAR = 14, 1e-5  # of those that ask
_MOST_LOAD = 0.99  # of those that stay


def shed_formulas(setting: Setting, rule: Rule, rates_rps: Floats, deadline_s: float) -> dict[str, Floats]:
    """Columns of those that stay, an array over the rates each; goodput is a share of all.

    Prompts that take longer alone than there is time never stay, so the others have steps and waits without
    them. Of these stays who has few enough ahead, and finds a place before it is too late.

    References
    ----------
    .. [1] Dowell and Jarratt (1971), "A modified regula falsi method for computing the root of an equation",
       BIT 11, 168-174.
    """
    engine, share = _possible(setting.engine, deadline_s)
    formulas = formulas_of(engine, rule, setting.workload.arrivals, kept_frac=share)
    patient = replace(formulas, waits=replace(formulas.waits, for_places=False))
    asking, most = rates_rps * share, _MOST_LOAD * formulas.limit.rate_rps
    kept = np.minimum(asking, most)
    low, at_low, high, at_high = np.zeros_like(kept), asking, kept, np.zeros_like(kept)
    was_under = np.zeros(kept.shape, dtype=bool)
    for _ in range(_MOST_TRIES):  # the more stay, the fewer of them are in time
        more = asking * _in_time(patient, kept, asking, deadline_s) - kept
        more = np.where((kept >= most) & (more > 0), 0.0, more)
        if np.all(np.abs(more) <= _NEAR * asking):
            break
        under = more > 0  # a line between the ends, of which one that stays twice counts half [1]_
        left = np.where(was_under, at_low, at_low / 2), np.where(was_under, at_high / 2, at_high)
        low, high = np.where(under, kept, low), np.where(under, high, kept)
        at_low, at_high = np.where(under, more, left[0]), np.where(under, left[1], more)
        kept, was_under = low + (high - low) * at_low / np.maximum(at_low - at_high, 1e-300), under
    columns = _held_up(patient, kept, asking, deadline_s).columns(kept, setting.slo)
    good = columns["goodput_frac"] / np.maximum(columns["ttft_good_frac"], 1e-9)
    return columns | {"goodput_frac": kept / rates_rps * good, "shed_frac": 1 - kept / rates_rps}


def _held_up(patient: Formulas, kept: Floats, asking: Floats, deadline_s: float) -> Formulas:
    """The formulas with the waits of those that stay."""
    waits, state = patient.waits, patient.state(kept)
    asking = asking * waits.first_token(kept, state).within(deadline_s)
    left_s = _left_s(patient, state["n"], deadline_s)
    held = PatientWaits(
        costs=waits.costs,
        limit=waits.limit,
        clumps=waits.clumps,
        for_places=False,
        asking_rps=asking,
        left_s=left_s,
        most_s=deadline_s,
    )
    return replace(patient, waits=held)


def _left_s(patient: Formulas, n: Floats, deadline_s: float) -> Floats:
    """What the own prompt leaves of the time: a place is needed in it."""
    own_s = patient.costs.engine.demand.prompt_groups[1] @ patient.costs.own_at(n)
    return np.asarray(np.maximum(deadline_s - own_s, 0.01 * deadline_s))


def _in_time(patient: Formulas, kept: Floats, asking: Floats, deadline_s: float) -> Floats:
    """Share of those that ask who are in time if so many stay."""
    state, limit = patient.state(kept), patient.limit
    inside = patient.waits.first_token(kept, state).within(deadline_s)
    if limit.binds == "token budget":
        return inside
    left_s = _left_s(patient, state["n"], deadline_s)
    return np.asarray(inside * (1 - patient.waits.no_place(asking * inside, state, left_s)))


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
