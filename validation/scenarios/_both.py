"""An engine case in the fast engine as well, where that can run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim import engine
from sim.policies import Policy
from sim.record import Records
from sim.replica import Replica
from validation.engines import differences

from ._case import table, want
from ._engine_config import read_policy, read_replica
from ._engine_requests import CaseRequests, read_requests

__all__ = ["fast_faults", "fast_needs"]


def _exact(policy: Policy, asked: CaseRequests) -> Policy:
    """The same policy with no more places than there are requests."""
    return replace(policy, max_seqs=min(policy.max_seqs, max(len(asked.requests), 1)))


def fast_needs(case: dict[str, Any]) -> str | None:
    """Why the fast engine leaves a case of kind ``engine`` to the reference engine; None if it runs it.

    Parameters
    ----------
    case : dict
        With ``config`` and ``requests``, readable.

    Examples
    --------
    >>> asked = [{"id": "A", "arrival": 0, "prompt_len": 5, "output_len": 1}]
    >>> fast_needs({"requests": asked}), fast_needs({"config": {"preemption": "swap"}, "requests": asked})
    (None, 'preemption=swap')
    """
    config = table("config", case.get("config", {}))
    asked = read_requests(want("case", case, "requests", list))
    return engine.why_stepwise(asked.requests, _exact(read_policy(config), asked), read_replica(config))


def fast_faults(
    asked: CaseRequests,
    policy: Policy,
    replica: Replica,
    records: Records,
    compare: Callable[[Records], list[str]],
) -> list[str]:
    """What differs in the fast engine, from ``records`` of the reference engine and from the expectation.

    Parameters
    ----------
    asked, policy, replica
        The case.
    records : Records
        Of the reference engine.
    compare : callable
        Differences between what the case expects of its requests and other records.

    Returns
    -------
    list of str
        Empty if nothing differs, or if the fast engine does not run such a case.
    """
    policy = _exact(policy, asked)
    if engine.why_stepwise(asked.requests, policy, replica):
        return []
    fast = engine.simulate(asked.requests, policy, replica, contents=asked.contents)
    return [f"fast engine: {line}" for line in (*compare(fast), *differences(records, fast))]
