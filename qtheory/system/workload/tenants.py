"""Tenants: clients with their own part of the load, importance, share of the service and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most
from qtheory.laws import spell

__all__ = ["Tenant", "tenant_columns"]

_MOST_PRIORITY = 10**9

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One client among several; its number is its place in the list, from 0.

    Parameters
    ----------
    share : float
        Part of the requests (of the conversations, if there are any), relative to the others' shares, > 0.
    priority : int
        Smaller is more important, for priority schedulers, 0 .. 1e9 (default 0).
    weight : float
        Part of the service in proportion to those of the others, for ``fair``, > 0 (default 1).
    ttft_slo_s, tpot_slo_s : float, optional
        Own limits on the time to the first token and per output token, seconds, > 0 (default: those of all).

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> str(Tenant(share=3, priority=1, ttft_slo_s=10.0))
    'tenant(share=3, priority=1, ttft_slo_s=10)'
    """

    share: float
    priority: int = 0
    weight: float = 1.0
    ttft_slo_s: float | None = None
    tpot_slo_s: float | None = None

    def __post_init__(self) -> None:
        checks.positive(share=self.share, weight=self.weight)
        checks.at_least(0, priority=self.priority)
        at_most(_MOST_PRIORITY, priority=self.priority)
        limits = {"ttft_slo_s": self.ttft_slo_s, "tpot_slo_s": self.tpot_slo_s}
        checks.positive(**{name: limit for name, limit in limits.items() if limit is not None})

    def __str__(self) -> str:
        usual = {"priority": 0, "weight": 1.0, "ttft_slo_s": None, "tpot_slo_s": None}
        said = {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}
        inside = ", ".join(f"{key}={spell(value)}" for key, value in {"share": self.share, **said}.items())
        return f"tenant({inside})"


def tenant_columns(
    tenants: Sequence[Tenant],
    rng: np.random.Generator,
    sessions: Ints,
    *,
    ttft_s: float | None = None,
    tpot_s: float | None = None,
) -> dict[str, Any]:
    """Columns of `Requests` that the tenants decide: who sends each request, and what is due to it.

    Parameters
    ----------
    tenants : sequence of Tenant
        At least one.
    rng : numpy.random.Generator
    sessions : array of int, shape (n,)
        Requests with the same number, from 0 on and non-decreasing, are of the same tenant.
    ttft_s, tpot_s : float, optional
        Limits of those that have none of their own.

    Raises
    ------
    ConfigError
        If there is no tenant.

    Examples
    --------
    >>> both = [Tenant(share=1), Tenant(share=1, priority=5)]
    >>> columns = tenant_columns(both, np.random.default_rng(1), np.array([0, 0, 1, 2]))
    >>> sorted(columns), columns["client"].tolist(), columns["priority"].tolist()
    (['client', 'priority'], [1, 1, 1, 0], [5, 5, 5, 0])
    """
    if not tenants:
        raise ConfigError("tenants: there must be at least one")
    edges = np.cumsum([tenant.share for tenant in tenants])
    n_sessions = int(sessions[-1]) + 1 if len(sessions) else 0
    drawn = np.searchsorted(edges, rng.random(n_sessions) * edges[-1], side="right")
    client = np.minimum(drawn, len(tenants) - 1).astype(np.int64)[sessions]
    columns: dict[str, Any] = {
        "client": client,
        "priority": np.array([tenant.priority for tenant in tenants])[client],
    }
    if all(tenant.ttft_slo_s is None and tenant.tpot_slo_s is None for tenant in tenants):
        return columns
    for name, usual in (("ttft_slo_s", ttft_s), ("tpot_slo_s", tpot_s)):
        own = [getattr(tenant, name) for tenant in tenants]
        rest = np.inf if usual is None else usual
        columns[name] = np.array([rest if limit is None else limit for limit in own])[client]
    return columns
