"""The names of quantities that a table may ask for."""

from __future__ import annotations

import re

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["QUANTITIES", "level_of", "require_quantity"]

_TIMES = ("wait", "wait_served", "response", "busy_period", "number", "queue")
QUANTITIES = (
    "utilization",
    "prob_wait",
    "prob_empty",
    "prob_block",
    "prob_abandon",
    "prob_server_idle",
    "throughput",
    "arrival_rate",
    "max_arrival_rate",
    *(f"{what}_{time}" for time in _TIMES for what in ("mean", "var", "p50", "p90", "p95", "p99", "p99.9")),
    *(f"tail_{time}" for time in _TIMES),
    "mean_response_given_size",
    "var_response_given_size",
    "mean_slowdown",
    "mean_running",
    "mean_batch_size",
    "mean_batch_seen",
    "mean_time_per_token",
    "scv_interarrival",
    "scv_service",
    "lag1_autocorrelation",
    "caudal_characteristic",
    "approx_kingman_mean_wait",
    "bound_kingman_mean_wait",
    "approx_klb_mean_wait",
    "approx_allen_cunneen_mean_wait",
    "approx_cosmetatos_mean_wait",
    "bound_inoue_mean_response_phi0",
    "bound_inoue_mean_response_phi1",
)
"""All names, with the usual percentiles; others are written alike (``p75_wait``)."""

_KNOWN = frozenset(QUANTITIES)
_PART = re.compile(r"_(?:class|station)[1-9]\d*$")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)_(.+)")


def level_of(head: str) -> float | None:
    """The level that a percentile names.

    Examples
    --------
    >>> level_of("p99.9"), level_of("mean")
    (0.999, None)
    """
    found = re.fullmatch(r"p(\d+(?:\.\d+)?)", head)
    return float(f"{found[1]}e-2") if found else None


def require_quantity(where: str, name: str) -> None:
    """Raise `ConfigError` unless a name is one of the quantities, of a class or a station perhaps."""
    whole = _PART.sub("", name)
    found = _PERCENTILE.fullmatch(whole)
    if found and 0 < float(found[1]) < 100:
        whole = f"p99_{found[2]}"
    if whole not in _KNOWN:
        near = checks.nearest(whole, QUANTITIES)
        raise ConfigError(f"{where}: quantity: {checks.shown(name)} is not known{near}")
