"""Prefill and decode apart as one scheduler: limit and both tiers of the pools that a replica has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.pools import PoolSpec
from qtheory.system.scheduler import DISAGGREGATED

from ._apart_formulas import ApartFormulas
from ._pools import PoolModel
from ._setting import Setting
from .limits import Limit

__all__ = ["closed", "limit", "numeric", "why_no_pools"]

Floats = NDArray[np.float64]

_ROUTERS = ("least_requests", "random")
_FIRST_TOKENS = ("prefill_end", "transfer_end")
_SLOW = 1e-6  # requests per second: the limits do not depend on the rate


def why_no_pools(setting: Setting) -> str | None:
    """Why there is no model of the pools of a replica, in a few words; None if there is."""
    pools = _pools(setting)
    reasons = {
        f"router {pools.router} before pools": pools.router not in _ROUTERS,
        f"first_token={pools.first_token}": pools.first_token not in _FIRST_TOKENS,
        "a shared link": pools.link_shared and pools.n_instances > 2,
        "layerwise_transfer": pools.layerwise_transfer,
        "chunked_prefill in pools": not setting.replica.scheduler.whole_prompts,
    }
    return next((text for text, holds in reasons.items() if holds), None)


def limit(setting: Setting) -> Limit:
    """Stability limit of the pool or link that has the lowest."""
    model = model_of(replace(setting, rate_rps=_SLOW))
    return Limit(rate_rps=model.limit_rps, running=model.most_running, binds=model.binds, redone_frac=0.0)


def numeric(setting: Setting) -> dict[str, Any]:
    """Columns from the chain of prompts that wait, links, and the number that decodes."""
    return model_of(setting).columns(setting.slo)


def closed(setting: Setting, rates_rps: Floats) -> dict[str, Floats]:
    """Columns from formulas, an array over the rates each."""
    models = [model_of(setting.at_rate(float(rate), np.inf)) for rate in rates_rps]
    return ApartFormulas(models).columns(setting.slo)


def model_of(setting: Setting) -> PoolModel:
    """The pools of a replica at the rate of the setting."""
    why = why_no_pools(setting)
    if why is not None:
        raise ConfigError(f"scheduler: {DISAGGREGATED}: there is no model of {why}; simulate it")
    if setting.engine.demand.mean_decode <= 0:
        raise ConfigError("output: with one token each there is nothing to decode; use one pool of fcfs")
    pools, spec = _pools(setting), setting.replica
    speed = pools.link_bytes_per_s / spec.model.kv_bytes_per_token(spec.roofline.kv_dtype)
    return PoolModel(
        prefill=setting.engine,
        decode=setting.engine,
        arrivals=setting.workload.arrivals,
        rate_rps=setting.rate_rps,
        n_prefill=pools.n_prefill,
        n_decode=pools.n_decode,
        link=(speed, pools.link_latency_s),
        counts_transfer=pools.first_token == "transfer_end",
        is_even=pools.router == "least_requests",
    )


def _pools(setting: Setting) -> PoolSpec:
    return setting.replica.pools or PoolSpec()
