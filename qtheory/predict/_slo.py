"""Earliest deadline first with shedding, over the steps of chunked prefill; one limit for all requests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError, UnstableError

from . import _chunked
from ._setting import Setting
from ._shedding import alone_s, shed_columns
from ._slo_formulas import shed_formulas
from ._steps import Rule
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=True)


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
    shed = setting.replica.scheduler.shed or "reject"
    if deadline_s is None or shed == "none":
        return _chunked.numeric(setting)
    shortest_s = float(alone_s(setting.engine).min())
    if shortest_s > deadline_s:
        raise ConvergenceError(
            f"ttft_slo_s: {deadline_s:g}: the shortest prompt takes {shortest_s:.3g} s alone, so all are shed"
        )
    return shed_columns(setting, _RULE, deadline_s)


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns by formulas, an array over the rates each."""
    deadline_s = setting.slo.ttft_s
    if deadline_s is None or setting.replica.scheduler.shed == "none":
        _check_stable(setting, rates_rps)
        return _chunked.closed(setting, rates_rps)
    return shed_formulas(setting, _RULE, rates_rps, deadline_s)


def _check_stable(setting: Setting, rates_rps: Floats) -> None:
    """Raise where nobody leaves and more come than can be served."""
    rate_rps, bound = float(rates_rps.max()), limit(setting)
    if rate_rps >= bound.rate_rps:
        raise UnstableError(
            f"rate_rps={rate_rps:g} is not below the limit of {bound.rate_rps:.4g} req/s of slo "
            f"({bound.binds} is what binds), and nobody is shed; lower the rate or add replicas"
        )
