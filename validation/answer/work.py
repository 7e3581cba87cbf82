"""Points and replications, done here or in other processes, in any order, with the same answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from qtheory.basics.errors import ServingError

from .finite import combine_finite
from .kept import Keeping
from .point import Point, Replication, Run, replicate
from .steady import STEADY, Next, combine_steady, next_round, steady_value
from .study import Study

__all__ = ["COMPARED", "Progress", "simulate_points"]

Progress = Callable[[int, int], None]
Task: TypeAlias = tuple[int, int]  # place of the point, number of the replication

COMPARED = ("goodput_frac", "mean_ttft_s", "p99_ttft_s", "p99_tpot_s")
"""Quantities in which schedulers are compared."""
_IN_FLIGHT = 64  # tasks given to an executor at once: results that wait to be used take memory


@dataclass(slots=True)
class _Open:
    """A point whose replications are under way."""

    n_wanted: int
    found: dict[int, Replication] = field(default_factory=dict)

    def in_order(self) -> list[Replication]:
        return [self.found[index] for index in range(self.n_wanted)]


def simulate_points(
    points: Sequence[Point],
    study: Study,
    *,
    executor: Executor | None,
    progress: Progress | None,
    kept: Keeping,
) -> list[Run]:
    """Simulate every replication of every point, put them together, and keep each finished point.

    Parameters
    ----------
    points : sequence of Point
    study : Study
    executor : Executor or None
        None: in this process.
    progress : callable or None
    kept : Keeping

    Raises
    ------
    ServingError
        If a point cannot be simulated, or a process of the executor ends unexpectedly.
    """
    runs = kept.begin(points, study)
    opened = {place: _Open(point.n_replications) for place, point in enumerate(points) if place not in runs}
    tasks: deque[Task] = deque((place, i) for place, one in opened.items() for i in range(one.n_wanted))
    for (place, index), replication in _done(tasks, points, study, executor):
        one = opened[place]
        one.found[index] = replication
        if len(one.found) < one.n_wanted:
            continue
        more = (
            next_round(one.in_order(), study)
            if study.precision is not None
            else Next(n_more=0, reached=False)
        )
        if more.n_more:
            # in front: a point under way is finished before others are begun
            tasks.extendleft((place, i) for i in range(one.n_wanted + more.n_more - 1, one.n_wanted - 1, -1))
            one.n_wanted += more.n_more
            continue
        runs[place] = _finish(points[place], opened.pop(place).in_order(), study, more)
        kept.add(points[place], study, runs[place])
        if progress is not None:
            progress(len(runs), len(points))
    return [runs[place] for place in range(len(points))]


def _done(
    tasks: deque[Task], points: Sequence[Point], study: Study, executor: Executor | None
) -> Iterator[tuple[Task, Replication]]:
    """Tasks with their results, as they come; tasks may be added meanwhile."""
    if executor is None:
        while tasks:
            task = tasks.popleft()
            yield task, replicate(points[task[0]], task[1], study)
        return
    given: dict[Future[Replication], Task] = {}
    try:
        while tasks or given:
            while tasks and len(given) < _IN_FLIGHT:
                place, index = tasks.popleft()
                given[executor.submit(replicate, points[place], index, study)] = (place, index)
            for future in wait(given, return_when=FIRST_COMPLETED).done:
                yield given.pop(future), future.result()
    except BrokenExecutor:
        raise ServingError(
            "a simulating process ended unexpectedly (out of memory?); fewer --jobs need less memory"
        ) from None
    finally:
        for future in given:
            future.cancel()


def _finish(point: Point, replications: Sequence[Replication], study: Study, more: Next) -> Run:
    combine = combine_steady if study.is_steady else combine_finite
    result = combine(replications, study.level)
    if study.precision is not None:
        result = replace(result, precision_reached=more.reached)
    is_cut = result.n_warm_up_requests > 0 or result.kind == STEADY
    return Run(
        scenario=point.scenario,
        replica=point.replica,
        workload=point.workload,
        result=result,
        values={
            name: tuple(
                steady_value(one, name, result.n_warm_up_requests) if is_cut else getattr(one.result, name)
                for one in replications
            )
            for name in COMPARED
        },
        records=tuple(one.records for one in replications if one.records is not None),
        stepwise=next((one.stepwise for one in replications if one.stepwise is not None), None),
    )
