"""Batching by iteration with whole prompts, and memory kept for all of a request from the start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _chunked
from ._numeric import columns_of, steady
from ._setting import Setting
from .limits import Limit

__all__ = ["closed", "limit", "numeric"]

Floats = NDArray[np.float64]


def limit(setting: Setting) -> Limit:
    """Stability limit: that of chunked prefill at its budget; nobody is preempted."""
    engine = _reserving(setting).engine
    if not engine.is_kv_limited:
        return _chunked.limit(replace(setting, engine=engine))
    fixed = replace(engine, max_seqs=max(int(engine.kv_slots), 1), kv_tokens=1e12)
    found = _chunked.limit(replace(setting, engine=fixed))
    return replace(found, binds="KV memory" if found.binds == "slots" else found.binds)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns from the chain of waiting tokens and running requests, each of which has one place."""
    steady_state = steady(_reserving(setting).engine, _chunked.RULE, setting.rate_rps)
    return columns_of([(1.0, steady_state)], setting.slo)


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns from formulas, an array over the rates each."""
    return _chunked.closed(_reserving(setting), rates_rps)


def _reserving(setting: Setting) -> Setting:
    """The memory as it would be if a request held as much as it has, and as many found room.

    A request keeps prompt and longest output from the start, of which it uses its context in the mean.
    """
    engine, demand = setting.engine, setting.engine.demand
    beside = (engine.block_tokens - 1) / 2
    unused = demand.prompt_moment(2) / (2 * demand.mean_prompt)
    whole = demand.mean_prompt + demand.mean_decode + 1 + beside
    fit = max(1.0, (engine.kv_tokens - unused) / whole)
    return replace(setting, engine=replace(engine, kv_tokens=fit * (demand.mean_context + beside) + unused))
