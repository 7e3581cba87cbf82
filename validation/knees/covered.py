"""Whether theory has a model of a scheduler under a load."""

from __future__ import annotations

from qtheory.basics.errors import ConfigError
from qtheory.predict import MODELLED_SCHEDULERS
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scenario import Scenario
from qtheory.system.workload import ClosedLoop, DayArrivals, ProfileArrivals, Workload, parse_arrivals

__all__ = ["check_has_rate", "why_not_covered"]

_USUAL = {"shed": ("reject",), "chunk_size": ("budget",)}


def check_has_rate(scenario: Scenario) -> None:
    """Refuse a load without an arrival rate.

    Raises
    ------
    ConfigError
        If it is a closed loop.
    """
    if isinstance(parse_arrivals(scenario.arrivals), ClosedLoop):
        raise ConfigError(
            f"arrivals: {scenario.arrivals} has no rate, so no knee; take open arrivals such as poisson"
        )


def why_not_covered(scenario: Scenario, replica: ReplicaSpec, workload: Workload) -> str | None:
    """Why there is no prediction of a scenario, in a few words; None if there is.

    Parameters
    ----------
    scenario : Scenario
    replica : ReplicaSpec
    workload : Workload
    """
    structure, spec = workload.structure, replica.scheduler
    if spec.name not in MODELLED_SCHEDULERS:
        return f"no model of {spec.name}"
    for option, usual in _USUAL.items():
        if (given := getattr(spec, option)) not in (None, *usual):
            return f"no model of {option}={given}"
    reasons = {
        "a recorded trace": scenario.trace is not None,
        "several replicas": scenario.replicas > 1 and replica.pools is None,
        "conversations": structure.conversations is not None,
        "tenants": bool(structure.tenants),
        "a prefix cache": replica.prefix_cache and bool(structure.prefixes),
        "a rate that changes with the clock": isinstance(workload.arrivals, DayArrivals | ProfileArrivals),
        "a cap at the client": bool(scenario.client_cap),
        "a clock that stops": scenario.stop_s is not None,
        "clients that time out": scenario.timeout_s is not None,
    }
    reason = next((text for text, holds in reasons.items() if holds), None)
    return None if reason is None else f"no model of {reason}"
