"""The questions: one scenario, schedulers side by side, rates in a sweep, a trace at several speeds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace

from qtheory.system.scenario import Scenario

from .apart import check_pool_fields
from .kept import Keeping, NothingKept
from .point import Run, build
from .study import Study
from .work import Progress, simulate_points

__all__ = ["compare", "replay", "run", "sweep"]

_STUDY, _NOTHING = Study(), NothingKept()


def run(
    scenario: Scenario,
    *,
    study: Study = _STUDY,
    executor: Executor | None = None,
    progress: Progress | None = None,
    kept: Keeping = _NOTHING,
) -> Run:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : Scenario
    study : Study
        How often and how long.
    executor : concurrent.futures.Executor, optional
        Where the replications run (default: in this process); the numbers do not depend on it.
    progress : callable, optional
        Called with the number of finished points and of all.
    kept : Keeping
        Where finished points go and come from, such as `Kept`.

    Returns
    -------
    Run

    Raises
    ------
    ConfigError
        If the scenario names something unknown or impossible.

    Examples
    --------
    >>> answer = run(Scenario(hardware="rtx3050", rate_rps=2.0, duration_s=20.0))
    >>> answer.result.n_replications, answer.result.n_finished == answer.result.n_requests
    (5, True)
    """
    return _all([scenario], study, executor, progress, kept)[0]


def compare(
    scenario: Scenario,
    schedulers: Sequence[str],
    *,
    study: Study = _STUDY,
    executor: Executor | None = None,
    progress: Progress | None = None,
    kept: Keeping = _NOTHING,
) -> list[Run]:
    """The same requests under each scheduler; parameters as in `run`.

    Examples
    --------
    >>> runs = compare(Scenario(hardware="rtx3050", requests=20), ["fcfs", "chunked"])
    >>> [(run.result.scheduler, run.result.n_requests) for run in runs]
    [('fcfs', 100), ('chunked', 100)]
    """
    return _all([replace(scenario, scheduler=name) for name in schedulers], study, executor, progress, kept)


def sweep(
    scenario: Scenario,
    schedulers: Sequence[str],
    rates_rps: Sequence[float],
    *,
    study: Study = _STUDY,
    executor: Executor | None = None,
    progress: Progress | None = None,
    kept: Keeping = _NOTHING,
) -> list[Run]:
    """Each scheduler at each rate, in this order; parameters as in `run`.

    All see the same lengths and the same arrivals, closer together at higher rates. Every scenario is built
    and checked before the first is simulated.

    Examples
    --------
    >>> runs = sweep(Scenario(hardware="rtx3050", requests=20), ["slo"], [1.0, 2.0])
    >>> [run.result.rate_rps for run in runs]
    [1.0, 2.0]
    """
    scenarios = [
        replace(scenario, scheduler=name, rate_rps=rate) for name in schedulers for rate in rates_rps
    ]
    return _all(scenarios, study, executor, progress, kept)


def replay(
    scenario: Scenario,
    schedulers: Sequence[str],
    speeds: Sequence[float],
    *,
    study: Study = _STUDY,
    executor: Executor | None = None,
    progress: Progress | None = None,
    kept: Keeping = _NOTHING,
) -> list[Run]:
    """The trace of a scenario under each scheduler at each speed, one run each; parameters as in `run`."""
    scenarios = [replace(scenario, scheduler=name, speed=speed) for name in schedulers for speed in speeds]
    return _all(scenarios, study, executor, progress, kept)


def _all(
    scenarios: Sequence[Scenario],
    study: Study,
    executor: Executor | None,
    progress: Progress | None,
    kept: Keeping,
) -> list[Run]:
    check_pool_fields(scenarios)
    points = [build(scenario, study) for scenario in scenarios]
    return simulate_points(points, study, executor=executor, progress=progress, kept=kept)
