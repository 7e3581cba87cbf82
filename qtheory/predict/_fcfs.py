"""First come, first served, whole prompts before decodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._closed import formulas_of
from ._numeric import columns_of, steady
from ._setting import Setting
from ._steps import Rule
from .limits import Limit, limit_of

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]

_RULE = Rule(mixed=False)


def limit(setting: Setting) -> Limit:
    """Stability limit."""
    return limit_of(setting.engine, _RULE)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns from the chain of waiting tokens and running requests."""
    return columns_of([(1.0, steady(setting.in_order, _RULE, setting.rate_rps))], setting.slo)


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns from formulas, an array over the rates each."""
    return formulas_of(setting.in_order, _RULE, setting.workload.arrivals).columns(rates_rps, setting.slo)
