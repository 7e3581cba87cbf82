"""The question: knees of schedulers under one load, each answered by what can answer it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError
from qtheory.planning import Knee, knee
from qtheory.predict import REJECTED_NOTE, TIERS
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of
from validation.refine import Goal

from .covered import check_has_rate, why_not_covered
from .simulated import refined, simulated_knee

__all__ = ["ANSWERS", "Asked", "asked_of", "knees"]

ANSWERS = (*TIERS, "sim")
"""Ways to an answer: a tier of the theory, or simulation."""
_LONG = ("sjf", "chunked")  # predictions of these take longest: begun first, so that processes end together


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One scheduler under the load, with everything found and checked.

    Parameters
    ----------
    scenario : Scenario
    replica : ReplicaSpec
    workload : Workload
    why_simulated : str or None
        Why there is no prediction; None if there is.
    """

    scenario: Scenario
    replica: ReplicaSpec
    workload: Workload
    why_simulated: str | None


def asked_of(scenario: Scenario, schedulers: Sequence[str], *, tier: str = "numeric") -> list[Asked]:
    """The scenario under each scheduler, before anything is computed.

    Parameters
    ----------
    scenario : Scenario
    schedulers : sequence of str
    tier : str
        One of `ANSWERS`.

    Raises
    ------
    ConfigError
        If something is unknown or impossible, or the load has no rate.
    """
    checks.one_of("tier", tier, ANSWERS)
    check_has_rate(scenario)
    found = []
    for name in schedulers:
        own = replace(scenario, scheduler=name)
        spec, workload = replica_of(own), workload_of(own)
        if workload.why_no_rate is not None:
            raise ConfigError(f"trace: {own.trace}: {workload.why_no_rate}, so no knee")
        why = "as asked for" if tier == "sim" else why_not_covered(own, spec, workload)
        found.append(Asked(scenario=own, replica=spec, workload=workload, why_simulated=why))
    return found


def knees(
    asked: Sequence[Asked],
    *,
    tier: str = "numeric",
    goal: Goal | None = None,
    refine: bool = False,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Knee]:
    """A knee for each scheduler: predicted where there is a model with an answer, else simulated.

    Parameters
    ----------
    asked : sequence of Asked
    tier : str
        One of `ANSWERS`.
    goal : Goal, optional
        Share of good requests, and how well simulated knees are to be known.
    refine : bool
        Whether predicted knees are simulated too.
    executor : concurrent.futures.Executor, optional
        Where predictions and runs go; the answers do not depend on it.
    progress : callable, optional
        Called with the number of finished schedulers and of all.

    Raises
    ------
    ServingError
        If a simulation is not possible.
    """
    goal = goal or Goal()
    predicted = _predictions(asked, tier, goal, executor)
    found: list[Knee] = []
    for one, prediction in zip(asked, predicted, strict=True):
        found.append(_answer(one, prediction, goal, refine, executor))
        if progress is not None:
            progress(len(found), len(asked))
    return found


def _predictions(
    asked: Sequence[Asked], tier: str, goal: Goal, executor: Executor | None
) -> list[Knee | str]:
    """Predicted knees, or the reason why there is none."""
    if executor is None or len(asked) == 1:
        return [_predicted(one, tier, goal) for one in asked]
    order = sorted(range(len(asked)), key=lambda place: asked[place].scenario.scheduler not in _LONG)
    under_way = {place: executor.submit(_predicted, asked[place], tier, goal) for place in order}
    return [under_way[place].result() for place in range(len(asked))]


def _predicted(one: Asked, tier: str, goal: Goal) -> Knee | str:
    if one.why_simulated is not None:
        return one.why_simulated
    try:
        found = knee(one.replica, one.workload, tier=tier, goodput_frac=goal.goodput_frac, level=goal.level)
    except ServingError as error:
        return f"{tier} tier: {str(error).removesuffix('; simulate it')}"
    rejected = next((note for note in found.notes if note.endswith(REJECTED_NOTE)), None)
    if rejected is not None:
        return rejected.removesuffix(REJECTED_NOTE) + "are rejected"
    scenario = one.scenario
    length = next((name for name in ("requests", "duration_s") if getattr(scenario, name) is not None), None)
    notes = (*found.notes, f"of the steady state: {length} is not used") if length else found.notes
    return replace(found, scheduler=scenario.scheduler, notes=notes)


def _answer(one: Asked, prediction: Knee | str, goal: Goal, refine: bool, executor: Executor | None) -> Knee:
    if isinstance(prediction, Knee):
        return refined(prediction, one.scenario, goal=goal, executor=executor) if refine else prediction
    start, slope = one.workload.offered_rps, None
    rough = _predicted(replace(one, why_simulated=None), "closed", goal) if _is_like(one) else ""
    if isinstance(rough, Knee) and rough.knee_rps and rough.cliff_slope:
        start, slope = rough.knee_rps, min(max(rough.cliff_slope / (1 - goal.goodput_frac), 1.5), 80.0)
    return simulated_knee(
        one.scenario, start_rps=start, slope=slope, goal=goal, why=prediction, executor=executor
    )


def _is_like(one: Asked) -> bool:
    """Whether the closed forms tell where to begin: the load is theirs, on one replica."""
    return why_not_covered(one.scenario, one.replica, one.workload) is None
