"""Clients that time out and try again: what a scenario says of them, and the numbers of a run of theirs."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.results import RunResult
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload import Workload
from sim.clients import Attempted, Patience
from sim.record import Records, Status
from sim.summary import summarize

from .apart import is_apart
from .study import Study

__all__ = ["WHY_STEPWISE", "check_patience", "patience_of", "summarize_attempts"]

WHY_STEPWISE = "clients that time out: every step is visited"
"""Why such a run goes on the reference engine."""
_FIELDS = tuple(item.name for item in fields(Patience))
_BY_ATTEMPT = (
    *("mean_running", "mean_waiting"),
    *("waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac", "timeline"),
)


def patience_of(scenario: Scenario) -> Patience | None:
    """What clients do that have waited too long; None if they wait as long as it takes.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ConfigError
        If a value is out of its range.

    Examples
    --------
    >>> patience_of(Scenario(timeout_s=10.0, retries=2))
    Patience(timeout_s=10.0, retries=2, retry_delay_s=1.0, backoff=2.0, waits_for='first_token')
    >>> patience_of(Scenario()) is None
    True
    """
    if scenario.timeout_s is None:
        return None
    return Patience(**{name: getattr(scenario, name) for name in _FIELDS})


def check_patience(scenario: Scenario, workload: Workload, study: Study) -> None:
    """Refuse what clients that time out do not go with.

    Parameters
    ----------
    scenario : Scenario
    workload : Workload
    study : Study

    Raises
    ------
    ConfigError
        Names what is in the way.
    """
    if patience_of(scenario) is None:
        return
    in_the_way = {
        f"scheduler: {scenario.scheduler}": is_apart(scenario),
        f"replicas: {scenario.replicas}": scenario.replicas > 1,
        f"arrivals: {workload.arrivals}": workload.client_cap > 0,
        "conversations": workload.structure.conversations is not None,
        "no_records": study.lean,
        "precision" if study.precision is not None else "steady": study.is_steady,
    }
    for what, is_given in in_the_way.items():
        if is_given:
            raise ConfigError(
                f"{what} given, but clients with timeout_s are simulated on one replica, in finite runs with "
                "records, none waiting for another"
            )


def summarize_attempts(
    found: Attempted, slo: Slo, *, n_windows: int, **common: Any
) -> tuple[Records, RunResult]:
    """Records with a row a request, and the numbers of the run: latencies since the first attempt.

    Who runs and waits is counted by attempts: between two of them a client is not with the engine.

    Parameters
    ----------
    found : Attempted
    slo : Slo
    n_windows : int
        Windows of the timeline.
    **common
        What `sim.summary.summarize` takes besides.
    """
    records = found.by_request()
    by_request = summarize(records, slo, n_windows=0, **common)
    by_attempt = summarize(found.attempts, slo, n_windows=n_windows, **common)
    steps = records.steps
    computed = int(steps.prefill_tokens.sum() + np.sum(steps.n_decodes * steps.n_steps, dtype=np.int64))
    n_attempts, n = int(found.n_attempts.sum()), len(records.requests)
    about: dict[str, Any] = {name: getattr(by_attempt, name) for name in _BY_ATTEMPT}
    return records, replace(
        by_request,
        n_attempts=n_attempts,
        n_given_up=int((records.status == Status.ABORTED).sum()),
        attempts_per_request=n_attempts / n if n else 0.0,
        wasted_frac=int(found.wasted_tokens.sum()) / computed if computed else 0.0,
        **about,
    )
