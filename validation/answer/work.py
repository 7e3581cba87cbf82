"""Points and replications, done here or in other processes, in any order, with the same answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from qtheory.basics.errors import ServingError

from .finite import combine_finite
from .kept import Keeping
from .length import next_length
from .point import Point, Replication, Run, lengthened, replicate
from .steady import STEADY, Next, combine_steady, next_round, steady_value
from .study import Study

__all__ = ["COMPARED", "Progress", "simulate_points"]

Progress = Callable[[int, int], None]
Task: TypeAlias = tuple[int, int]  # place of the point, number of the replication

COMPARED = ("goodput_frac", "mean_ttft_s", "p99_ttft_s", "p99_tpot_s")
"""Quantities in which schedulers are compared."""
_NO_MORE = Next(n_more=0, reached=False)
_ANY = "chunked"  # a scheduler in place of each
_IN_FLIGHT = 64  # tasks given to an executor at once: results that wait to be used take memory


@dataclass(slots=True, eq=False)
class _Open:
    """A point whose replications are under way, and those whose runs are to be as long as its own."""

    place: int
    point: Point
    n_wanted: int
    together: list[_Open]
    found: dict[int, Replication] = field(default_factory=dict)

    def in_order(self) -> list[Replication]:
        return [self.found[index] for index in range(self.n_wanted)]

    def is_full(self) -> bool:
        return len(self.found) == self.n_wanted

    def ask(self, n_more: int) -> list[Task]:
        """Tasks of ``n_more`` replications."""
        self.n_wanted += n_more
        return [(self.place, index) for index in range(self.n_wanted - n_more, self.n_wanted)]

    def begin_again(self, n_requests: int) -> list[Task]:
        """Tasks of as many replications, of another length."""
        self.point, self.found = lengthened(self.point, n_requests), {}
        return [(self.place, index) for index in range(self.n_wanted)]


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
    opened = _opened(points, runs)
    tasks: deque[Task] = deque((place, i) for place, one in opened.items() for i in range(one.n_wanted))
    for (place, index), replication in _done(tasks, opened, study, executor):
        opened[place].found[index] = replication
        again: list[Task] = []
        ready = opened[place].together
        if not all(one.is_full() for one in ready):
            continue
        n_requests = _longer(ready, study)
        for one in list(ready):
            if n_requests is not None:
                again += one.begin_again(n_requests)
                continue
            one.together, one.point = [one], replace(one.point, is_length_free=False)
            more = next_round(one.in_order(), study) if study.precision is not None else _NO_MORE
            if more.n_more:
                again += one.ask(more.n_more)
                continue
            runs[one.place] = _finish(opened.pop(one.place), study, more)
            kept.add(points[one.place], study, runs[one.place])
            if progress is not None:
                progress(len(runs), len(points))
        tasks.extendleft(reversed(again))  # in front: a point under way is finished before others are begun
    return [runs[place] for place in range(len(points))]


def _opened(points: Sequence[Point], runs: Mapping[int, Run]) -> dict[int, _Open]:
    """Points to be simulated; next to each other those that differ by scheduler alone.

    They see the same requests, so their runs are of one length; that of a run which is there already, from
    an interrupted command, was the length of all.
    """
    groups: dict[Hashable, list[_Open]] = {}
    lengths: dict[Hashable, int] = {}
    for place, point in enumerate(points):
        shared: Hashable = replace(point.scenario, scheduler=_ANY) if point.is_length_free else place
        if place in runs:
            lengths[shared] = runs[place].result.n_requests // runs[place].result.n_replications
            continue
        together = groups.setdefault(shared, [])
        together.append(_Open(place, point, point.n_replications, together))
    for shared, n_requests in lengths.items():
        for one in groups.get(shared, ()):
            one.point = replace(lengthened(one.point, n_requests), is_length_free=False)
    return {one.place: one for together in groups.values() for one in together}


def _longer(ready: Sequence[_Open], study: Study) -> int | None:
    """Requests that each run of these points is to have instead; None where they are long enough."""
    wanted = [next_length(one.in_order(), study) for one in ready if one.point.is_length_free]
    return max((n for n in wanted if n is not None), default=None)


def _done(
    tasks: deque[Task], opened: Mapping[int, _Open], study: Study, executor: Executor | None
) -> Iterator[tuple[Task, Replication]]:
    """Tasks with their results, as they come; tasks may be added meanwhile."""
    if executor is None:
        while tasks:
            task = tasks.popleft()
            yield task, replicate(opened[task[0]].point, task[1], study)
        return
    given: dict[Future[Replication], Task] = {}
    try:
        while tasks or given:
            while tasks and len(given) < _IN_FLIGHT:
                place, index = tasks.popleft()
                future = executor.submit(replicate, opened[place].point, index, study)
                given[future] = (place, index)
            for future in wait(given, return_when=FIRST_COMPLETED).done:
                yield given.pop(future), future.result()
    except BrokenExecutor:
        raise ServingError(
            "a simulating process ended unexpectedly (out of memory?); fewer --jobs need less memory"
        ) from None
    finally:
        for future in given:
            future.cancel()


def _finish(one: _Open, study: Study, more: Next) -> Run:
    point, replications = one.point, one.in_order()
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
