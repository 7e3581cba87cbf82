"""The cheapest fleet: all candidates by closed forms, the best by a better tier until one is certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.predict import MODELLED_SCHEDULERS, limit_rps
from qtheory.system.workload import Workload

from .fleet_candidates import Candidate
from .fleet_curve import Curve, theory_curve
from .fleet_doubt import Doubt, doubt_of
from .fleet_load import Load, share_of
from .fleet_plan import FleetPlan, Option, hours_of
from .fleet_side_by_side import SideBySide
from .fleet_size import Fleet, Need, OutOfReachError, fleet_of

__all__ = ["Answer", "TheoryAnswer", "plan_fleet"]

Answer = Callable[[Candidate, Workload, "float | None"], Curve]
"""A candidate with its share of the load, and where to look first, to its curve."""

_HOUR_S = 3600.0
_FIRST, _TOO_DEAR = 12, 4.0  # candidates to begin with; a bound on the cost of the others, over the cheapest


def plan_fleet(
    candidates: Sequence[Candidate],
    load: Load,
    need: Need,
    *,
    better: Answer | None = None,
    answers_all: bool = False,
    progress: Callable[[int, int], None] | None = None,
    side_by_side: SideBySide | None = None,
) -> FleetPlan:
    """The cheapest fleet of equal replicas for a load, and what the others would cost.

    Every candidate is answered by closed forms, but for those that cost more than four times the cheapest
    even at their stability limit; then the cheapest is asked again by the better tier until the cheapest of
    all is one that has been. What the better tier refuses has no fleet.

    Parameters
    ----------
    candidates : sequence of Candidate
    load : Load
    need : Need
        For its busiest moment.
    better : callable, optional
        The better tier (default: the closed forms do).
    answers_all : bool
        Whether it is asked of what the closed forms refuse as well: a simulation.
    progress : callable, optional
        Called with how many candidates are done, and of how many.
    side_by_side : SideBySide, optional
        Where candidates are asked (default: here, one after the other); the plan does not depend on it.

    Examples
    --------
    >>> from qtheory.planning.fleet_candidates import Choices, candidates_of
    >>> from qtheory.planning.fleet_load import load_of
    >>> from qtheory.planning.prices import prices_of
    >>> from qtheory.system.hardware import find_hardware
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload import workload_of
    >>> scenario = Scenario(model="llama-3.1-8b", workload="chat", rate_rps=30.0)
    >>> prices = prices_of([find_hardware("a100"), find_hardware("h100")])
    >>> both = candidates_of(scenario, Choices(hardware=("a100", "h100")), prices)
    >>> plan = plan_fleet(both, load_of(workload_of(scenario)), Need(rate_rps=30.0))
    >>> plan.best.fleet.n_replicas, plan.best.candidate.told
    (2, '1 x h100, bf16, chunked, 2,048 tokens a step')
    """
    options: list[Option] = []
    closed = TheoryAnswer(goodput_frac=need.goodput_frac, tier="closed")
    for batch in _batches(candidates, load, options):
        tasks = [(candidate, load, need, closed) for candidate in batch]
        for option in map(_asked, tasks) if side_by_side is None else side_by_side.all(_asked, tasks):
            options.append(replace(option, closed=option.fleet))
            if progress is not None:
                progress(len(options), len(candidates))
    if better is not None:
        options = _refined(options, load, need, better, answers_all=answers_all, side_by_side=side_by_side)
    return FleetPlan(load=load, need=need, options=tuple(sorted(options, key=_order)))


def _batches(candidates: Sequence[Candidate], load: Load, options: list[Option]) -> Iterator[list[Candidate]]:
    """The candidates that cost least at their stability limits, then those that do not cost far more there.

    What costs too much becomes an option here.
    """
    bounds = [_usd_at_limit(candidate, load) for candidate in candidates]
    order = sorted(range(len(candidates)), key=lambda place: bounds[place][0])
    yield [candidates[place] for place in order[:_FIRST]]
    costs = [option.usd_per_hour for option in options if option.usd_per_hour is not None]
    most = _TOO_DEAR * min(costs, default=math.inf)
    rest = []
    for place in order[_FIRST:]:
        usd, n = bounds[place]
        if usd <= most:
            rest.append(candidates[place])
            continue
        why = f"too dear: at the stability limit it would take {n:,} replicas, ${usd:.4g} an hour"
        options.append(Option(candidate=candidates[place], fleet=None, reason=why))
    yield rest


def _usd_at_limit(candidate: Candidate, load: Load) -> tuple[float, int]:
    """What a fleet would cost at its stability limit, and its replicas; 0 where there is no telling."""
    name = candidate.scenario.scheduler
    if candidate.replica is None or name not in MODELLED_SCHEDULERS:
        return 0.0, 0
    try:
        limit = limit_rps(candidate.replica, load.workload)
    except ServingError:
        return 0.0, 0
    n = math.ceil(load.mean_rps / limit)
    return n * candidate.usd_per_hour, n


@dataclass(frozen=True, kw_only=True)
class TheoryAnswer:
    """A candidate's curve by a tier of the theory; plain data, so that another process can be asked.

    Parameters
    ----------
    goodput_frac : float
        Share that must be good.
    tier : str
        ``closed`` or ``numeric``.

    Examples
    --------
    >>> TheoryAnswer(goodput_frac=0.9, tier="closed").tier
    'closed'
    """

    goodput_frac: float
    tier: str

    def __call__(self, candidate: Candidate, workload: Workload, near_rps: float | None) -> Curve:
        """Raises `ConfigError` if there is no model of the candidate."""
        if candidate.replica is None:
            raise ConfigError(candidate.reason)
        return theory_curve(
            candidate.replica, workload, goodput_frac=self.goodput_frac, tier=self.tier, near_rps=near_rps
        )


def _refined(
    options: Sequence[Option],
    load: Load,
    need: Need,
    better: Answer,
    *,
    answers_all: bool,
    side_by_side: SideBySide | None,
) -> list[Option]:
    """First what only the better way answers; then the cheapest, until the cheapest of all has been asked."""
    done = [
        _option(option.candidate, load, need, better)
        for option in options
        if answers_all and option.is_refused
    ]
    left = sorted((one for one in options if not (answers_all and one.is_refused)), key=_order)
    ahead: Iterator[Option] | None = None
    if side_by_side is not None:
        tasks = [(one.candidate, load, need, better, one.fleet) for one in left if one.fleet is not None]
        ahead = side_by_side.all(_asked, tasks)
    while left:
        cheapest = min([*done, left[0]], key=_order)
        if cheapest.fleet is None or any(cheapest is one for one in done):
            break
        left = left[1:]
        if ahead is None:
            again = _option(cheapest.candidate, load, need, better, cheapest.fleet)
        else:
            again = next(ahead)
        done.append(replace(again, closed=cheapest.fleet))
    return [*done, *left]


def _asked(
    task: tuple[Candidate, Load, Need, Answer] | tuple[Candidate, Load, Need, Answer, Fleet],
) -> Option:
    """What `_option` says, in one word for another process."""
    return _option(*task)


def _order(option: Option) -> tuple[float, float, str]:
    if option.usd_per_hour is None or option.fleet is None:
        return (float("inf"), 0.0, option.candidate.told)
    return (round(option.usd_per_hour, 9), -option.fleet.headroom_frac(1.0), option.candidate.told)


def _doubt(candidate: Candidate, curve: Curve) -> Doubt:
    """What was measured of its scheduler, or of all that go step by step."""
    asked = (curve.answered_by, curve.binds, candidate.hardware)
    try:
        return doubt_of(*asked, scheduler=candidate.scenario.scheduler)
    except ConfigError:
        return doubt_of(*asked)


def _option(
    candidate: Candidate, load: Load, need: Need, answer: Answer, first: Fleet | None = None
) -> Option:
    if candidate.replica is None:
        return Option(candidate=candidate, fleet=None, reason=candidate.reason)
    seen: dict[str, Curve] = {}

    def curve_of(n: int) -> Curve:
        share = share_of(load.workload, 1 if load.is_day else n)
        kind = str(share.arrivals)
        if kind not in seen:
            seen[kind] = answer(candidate, share, need.sized_rps / n)
        return seen[kind]

    try:
        fleet = fleet_of(
            need,
            curve_of,
            lambda curve: _doubt(candidate, curve),
            first=1 if first is None else first.n_needed,
        )
    except OutOfReachError as error:
        return Option(candidate=candidate, fleet=None, reason=str(error))
    except ServingError as error:
        return Option(candidate=candidate, fleet=None, reason=f"not predicted: {error}", is_refused=True)
    hours = hours_of(candidate, fleet, load, need)
    cost = sum(hour.usd for hour in hours) / sum(stage.length_s for stage in load.stages) * _HOUR_S
    return Option(candidate=candidate, fleet=fleet, usd_per_hour=cost)
