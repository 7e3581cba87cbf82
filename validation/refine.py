"""The knee by simulation, from where it is predicted to be, until it is known as well as was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, field
from statistics import fmean, variance

from qtheory.basics import checks
from qtheory.basics.errors import ConvergenceError, ServingError
from qtheory.planning import find_knee
from qtheory.system.scenario import Scenario

from ._bracketed import NoKneeError, bracketed
from ._goal import Goal
from ._located import Located, locate
from ._sampled import Plan, Sample, Work, plan_of, sample

__all__ = ["Goal", "NoKneeError", "Plan", "Refined", "Sample", "Work", "refine", "sample"]

Progress = Callable[[int, int], None]
Simulate = Callable[[Plan, float, int, int], Sample]
_FIRST, _LONGEST = 8_000, 200_000  # requests of a run
_WORTH, _WORTH_ROUGH = 30.0, 8.0
_WORTH_STEEP = ((0.3, 15.0), (1.0, 6.0))
"""Effectively independent requests that a run should have, for its start to be forgotten; and fewer where the
logarithm of the share of late requests grows by so much within the precision. Of a reflected Brownian motion
from zero (Abate and Whitt 1987), late above the level that a tenth exceeds, the first fifth left out, that
share is short by 0.001, 0.06, 0.7 and 1.6 % with 30, 15, 8 and 6. It moves the knee by that over the slope:
on the steep ones by at most 1.6 % of the precision."""
_NEAR = 4  # sides from the middle, within which runs count
_LOST, _FEW = 3.5, 4
"""Times the share at the knee: nearly `_NEAR` sides up the cliff, where it is exp(4 x 0.35) = 4.1 times as
large. What is run there will not count once the knee is the middle, so a few runs will do to leave it."""
_PREDICTED_OFF, _SEEN_OFF = 0.35, 1.0
"""How far off a slope is taken to be. Two short runs on both sides of the knee, the first that are, overstate
it: of M/M/1 by two thirds in the median."""
_TURN = 1.5  # at most, from one round to the next, of a slope that is not predicted
_ROUND, _FEWEST = 8, 20  # runs
_ROUGH = 0.015  # precision above which shorter runs will do
_GROWTH = 0.35  # of the logarithm of the share of late requests from the middle to a side
_TRIES = 60
_MOST_GROWTH = 4.0  # of a run's length at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A simulated knee.

    Parameters
    ----------
    rate_rps : float or None
        None if goodput is too low at every rate.
    low_rps, high_rps : float or None
        The interval; None where all runs would be alike.
    slope : float or None
        Relative growth of the share of late requests for a relative growth of the rate, there.
    n_requests : int
        Simulated in all.
    reached : bool
        Whether the interval is as tight as asked for.
    samples : tuple of Sample
        The runs, those of the search among them.
    note : str
        What is to be known of it.
    """

    rate_rps: float | None
    low_rps: float | None = None
    high_rps: float | None = None
    slope: float | None = None
    n_requests: int
    reached: bool
    samples: tuple[Sample, ...] = ()
    note: str = ""


def refine(
    scenario: Scenario,
    *,
    start_rps: float,
    slope: float | None = None,
    goal: Goal | None = None,
    plan: Plan | None = None,
    simulate: Simulate | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Refined:
    """Find the knee of a scenario by simulation.

    A few short runs at ``start_rps`` say whether the knee is near; if not, the rate goes up or down in
    growing steps until it is between two. Then runs at two rates close by, one to each side, are added until
    the interval is tight; see `validation._located.locate` for how a place follows from them. A prediction
    saves the search, says how steep the curve is, and what surplus of work in a run means.

    Parameters
    ----------
    scenario : Scenario
        Its rate is not used. Without a length of the runs the question is about a steady state.
    start_rps : float
        Where to begin, > 0.
    slope : float, optional
        Predicted relative growth of the share of late requests for a relative growth of the rate.
    goal : Goal, optional
        Default: 90 % good, within 1 %.
    plan : Plan, optional
        How the scenario is simulated (default: as `validation._sampled.plan_of` says).
    simulate : callable (plan, rate, n_requests, index) -> Sample, optional
        One run, by a function that an executor can send (default: `validation._sampled.sample`).
    executor : concurrent.futures.Executor, optional
        Where the runs go; the answer does not depend on it.
    progress : callable, optional
        Called with the requests that were simulated and those that may be needed.

    Raises
    ------
    ConfigError
        If the scenario or a number is wrong.
    NoKneeError
        If no rate is too high.
    ConvergenceError
        If no place fits the runs that were allowed.

    Examples
    --------
    >>> goal = Goal(precision=0.2)
    >>> found = refine(Scenario(hardware="rtx3050", workload="rag"), start_rps=1.8, slope=9.0, goal=goal)
    >>> found.reached, found.low_rps < 1.8 < found.high_rps
    (True, True)
    """
    checks.positive(start_rps=start_rps)
    return _Refinement(
        plan=plan or plan_of(scenario),
        goal=goal or Goal(),
        simulate=simulate or sample,
        executor=executor,
        progress=progress,
    ).found(start_rps, slope)


def _near(runs: Sequence[Sample], centre: float, most: float) -> list[Sample]:
    """Pairs of runs whose middle is no further away, in logarithms."""
    pairs = zip(runs[::2], runs[1::2], strict=True)
    kept = (
        pair
        for pair in pairs
        if abs(math.log(pair[0].rate_rps * pair[1].rate_rps) / 2 - math.log(centre)) < most
    )
    return [one for pair in kept for one in pair]


@dataclass
class _Refinement:
    plan: Plan
    goal: Goal
    simulate: Simulate
    executor: Executor | None
    progress: Progress | None
    samples: list[Sample] = field(default_factory=list)
    n_requests: int = 0
    length: int = _FIRST
    worth: float = _WORTH

    def __post_init__(self) -> None:
        if self.goal.precision > _ROUGH:
            self.length, self.worth = _FIRST // 2, _WORTH_ROUGH
        self.length = self.goal.run_requests or self.length

    def run(self, rates_rps: Sequence[float], length: int) -> list[Sample]:
        """A run at each rate, with random numbers of its own."""
        first = len(self.samples)
        tasks = [(self.plan, rate, length, first + i) for i, rate in enumerate(rates_rps)]
        if self.executor is None:
            made = [self.simulate(*task) for task in tasks]
        else:
            try:
                made = list(self.executor.map(self.simulate, *zip(*tasks, strict=True)))
            except BrokenExecutor:
                raise ServingError(
                    "a simulating process ended unexpectedly (out of memory?); fewer --jobs need less memory"
                ) from None
        self.samples += made
        self.n_requests += sum(one.n_requests for one in made)
        if self.progress is not None:
            self.progress(self.n_requests, self.goal.max_requests)
        return made

    def found(self, start_rps: float, slope: float | None) -> Refined:
        if self.plan.n_random == 1:
            return self._replayed(start_rps)
        bad = 1 - self.goal.goodput_frac
        near = bracketed(self.run, start_rps=start_rps, slope=slope, bad_frac=bad)
        if near is None:
            note = f"goodput is below {100 * self.goal.goodput_frac:g} % at every rate"
            return self._told(None, note)
        is_met = slope is None and self.plan.is_steady  # else all runs are of one length
        return self._closed_in(near.rate_rps, near.slope, _SEEN_OFF if is_met else _PREDICTED_OFF)

    def _replayed(self, start_rps: float) -> Refined:
        """A recorded trace at other rates: one run each, nothing random."""
        rate = find_knee(
            lambda rate_rps: 1 - self.run([rate_rps], 0)[0].bad_frac,
            goodput_frac=self.goal.goodput_frac,
            start_rps=start_rps,
            rtol=min(self.goal.precision, 0.05) / 2,
        )
        note = "the trace as recorded, faster or slower: one run, no interval"
        return self._told(rate, note)

    def _told(self, rate_rps: float | None, note: str) -> Refined:
        """An answer without an interval."""
        n, samples = self.n_requests, tuple(self.samples)
        return Refined(rate_rps=rate_rps, n_requests=n, reached=True, samples=samples, note=note)

    def _closed_in(self, centre: float, guess: float, off_frac: float) -> Refined:
        goal, used, slope = self.goal, list[Sample](), guess
        n_more, place, too_high = _ROUND, None, math.inf
        self.worth = min(
            [self.worth, *(few for least, few in _WORTH_STEEP if goal.precision * slope > least)]
        )
        bad_frac = 1 - goal.goodput_frac
        lost_frac = min(_LOST * bad_frac, (1 + bad_frac) / 2)
        is_trial = self.plan.is_steady
        for _ in range(_TRIES):
            side = min(max(_GROWTH / slope, min(0.75 * goal.precision, 2 * _GROWTH / slope)), 0.05)
            made = self.run([centre * (1 + side * (-1) ** (i + 1)) for i in range(n_more)], self.length)
            left = goal.max_requests - self.n_requests
            if fmean(one.bad_frac for one in made) > lost_frac and left > 0:
                too_high, used, n_more = centre, [], _FEW
                centre = self._moved(made, centre, guess)
                continue
            used = _near(used, centre, _NEAR * side) + made
            place = locate(used, bad_frac=bad_frac, slope=guess, slope_off_frac=off_frac, level=goal.level)
            if off_frac > _PREDICTED_OFF:
                least, most = slope / _TURN, _TURN * slope
                slope = least if place is None else min(max(place.slope, least), most)
            if left <= 0:
                break
            if place is None:
                moved = self._moved(used, centre, guess)
                centre, n_more = min(moved, math.sqrt(centre * too_high)), _ROUND
                continue
            off = math.log(place.rate_rps / centre)
            is_near = abs(off) <= max(0.75 * side, 0.5 * place.half_frac)
            is_done = len(used) >= _FEWEST and is_near and place.half_frac <= goal.precision
            if is_done and not is_trial:
                break
            centre *= math.exp(min(max(off, -0.1), 0.1))
            n_more = _ROUND if is_trial else self._wanted(place, len(used), left)
            if is_trial and len(made) >= _ROUND:
                is_trial, used = self._longer(made), []
        return self._answer(place)

    def _moved(self, used: Sequence[Sample], centre: float, slope: float) -> float:
        """Where to look if no line fits: towards the level, by the slope that was guessed."""
        bad = max(fmean(one.bad_frac for one in used), 1e-4)
        off = math.log((1 - self.goal.goodput_frac) / bad) / slope
        return centre * math.exp(min(max(off, -0.1), 0.1))

    def _wanted(self, place: Located, n_used: int, left: int) -> int:
        """More runs, even in number: as the width says, by half of what there is at most: it is rough."""
        missing = n_used * ((place.half_frac / self.goal.precision) ** 2 - 1)
        n_more = min(max(math.ceil(missing), 4), max(n_used // 2, _ROUND), 64)
        return max(2 * math.ceil(n_more / 2), 2 * math.ceil((_FEWEST - n_used) / 2), 2)

    def _longer(self, made: Sequence[Sample]) -> bool:
        """Make runs longer if they are too short to forget their start; whether that is to be seen again.

        The runs that say so are left out of the answer: those that happen to be alike would be preferred.
        """
        sides = [[one.bad_frac for one in made[i::2]] for i in (0, 1)]
        between = fmean(variance(side) for side in sides)
        share = fmean(one.bad_frac for one in made)
        if not 0 < share < 1 or between <= 0:
            return False
        growth = 1.3 * self.worth * between / (share * (1 - share))
        self.length = math.ceil(min(self.length * min(max(growth, 1.0), _MOST_GROWTH), _LONGEST))
        return growth > _MOST_GROWTH and self.length < _LONGEST

    def _answer(self, place: Located | None) -> Refined:
        goal = self.goal
        if place is None:
            raise ConvergenceError(
                f"no knee was found with {self.n_requests:,} requests; more --max-requests may help"
            )
        reached = place.half_frac <= goal.precision
        note = "" if reached else f"{self.n_requests:,} requests did not reach {100 * goal.precision:g} %"
        return Refined(
            rate_rps=place.rate_rps,
            low_rps=place.low_rps,
            high_rps=place.high_rps,
            slope=place.slope,
            n_requests=self.n_requests,
            reached=reached,
            samples=tuple(self.samples),
            note=note,
        )
