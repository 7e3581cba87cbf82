"""Earliest deadline first with shedding, over the steps of chunked prefill; one limit for all requests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError

from ._closed import formulas_of
from ._setting import Setting
from ._shedding import alone_s, shed_columns
from ._steps import Rule
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)
_MOST_LOAD = 0.85  # of the formulas where slots or memory bind


def limit(setting: Setting) -> Limit:
    """Stability limit without shedding; with it there is none."""
    return limit_of(setting.engine, _RULE)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns: the chain of chunked prefill in which those that must be late leave.

    With one limit for all the earliest deadline is the first arrival. A request leaves when what is left of
    its time is less than its prompt needs alone; so of those that find w ahead and n running a share stays
    that depends on both.
    """
    deadline_s = setting.slo.ttft_s
    load = setting.rate_rps / limit(setting).rate_rps
    shed = setting.replica.scheduler.shed or "reject"
    if deadline_s is None or shed == "none":
        from ._chunked import numeric as without

        return without(setting)
    shortest_s = float(alone_s(setting.engine).min())
    if shortest_s > deadline_s:
        raise ConvergenceError(
            f"ttft_slo_s: {deadline_s:g}: the shortest prompt takes {shortest_s:.3g} s alone, so all are shed"
        )
    return shed_columns(setting, _RULE, deadline_s, load)


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


def _what_binds(bound: Limit) -> str:
    return f"{bound.binds} {'bind' if bound.binds.endswith('s') else 'binds'}"
