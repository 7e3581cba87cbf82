"""Errors pooled by scheduler, load, memory and arrivals, and the targets that they are held against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ._theory import ANSWERERS
from .score import Score
from .tolerances import TOLERANCES

__all__ = ["ALL", "Group", "Target", "bands_of", "groups_of", "targets_of"]

ALL = "all"
"""Level of a factor that is pooled."""

_MOST_FRAC = 0.95  # of the errors are within the larger of two bounds
_SHARP = 1 / 3
_MOST_UNANSWERED = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Cells of one scheduler, band of loads, memory and kind of arrivals.

    Parameters
    ----------
    scheduler, band, memory, arrivals : str
        The last two may be ``all``.
    n_cells : int
    verdicts : dict
        Number of cells by verdict of the numeric tier.
    medians : dict
        By answerer and metric, ``knee_rps`` among them: median of the absolute errors.
    """

    scheduler: str
    band: str
    memory: str
    arrivals: str
    n_cells: int
    verdicts: dict[str, int]
    medians: dict[str, dict[str, float]]


def groups_of(scores: Iterable[Score]) -> list[Group]:
    """One group for each combination that has cells, none pooled with another.

    Parameters
    ----------
    scores : iterable of Score
    """
    return _grouped(scores, lambda one: (one.cell.memory, _kind(one)))


def bands_of(scores: Iterable[Score]) -> list[Group]:
    """One group for each scheduler and band of loads, over memory and arrivals.

    Parameters
    ----------
    scores : iterable of Score
    """
    found = _grouped(scores, lambda _: (ALL, ALL))
    order = list(dict.fromkeys(group.scheduler for group in found))
    return sorted(found, key=lambda group: (order.index(group.scheduler), group.band))


def _kind(one: Score) -> str:
    return "poisson" if one.cell.arrivals == "poisson" else "bursty"


def _grouped(scores: Iterable[Score], system: Callable[[Score], tuple[str, str]]) -> list[Group]:
    pooled: dict[tuple[str, str, str, str], list[Score]] = {}
    for one in scores:
        pooled.setdefault((one.cell.scheduler, one.cell.band, *system(one)), []).append(one)
    return [
        Group(
            scheduler=scheduler,
            band=band,
            memory=memory,
            arrivals=arrivals,
            n_cells=len(some),
            verdicts=dict(Counter(one.verdict("numeric") for one in some)),
            medians={name: _medians(some, name) for name in ANSWERERS},
        )
        for (scheduler, band, memory, arrivals), some in pooled.items()
    ]


def _medians(scores: Sequence[Score], answerer: str) -> dict[str, float]:
    found = {}
    for metric in (*TOLERANCES, "goodput_frac"):
        errors = [abs(e) for one in scores if (e := one.errors.get(answerer, {}).get(metric)) is not None]
        if errors:
            found[metric] = float(np.median(errors))
    for metric, read in (("limit_rps", _limit(answerer)), ("knee_rps", _knee(answerer))):
        if pairs := _each(scores, read):
            found[metric] = float(np.median([abs(error) for error, _ in pairs]))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A bound on the median of errors, and one on all but 5 % of them.

    Parameters
    ----------
    name : str
    n : int
        Errors that there are.
    n_undecided : int
        Of these, too blurred by the simulation to be called within the larger bound.
    median, most : float or None
        Of the absolute errors the median and the 95th percentile, an undecided one counted as infinite in
        the latter.
    most_decided : float or None
        The 95th percentile of the decided ones alone.
    median_bound, most_bound : float
        What they may be.
    """

    name: str
    n: int
    n_undecided: int
    median: float | None
    most: float | None
    most_decided: float | None
    median_bound: float
    most_bound: float

    @property
    def verdict(self) -> str:
        """``met``, ``missed``, or ``no cells``."""
        if self.median is None or self.most is None:
            return "no cells"
        return "met" if self.median <= self.median_bound and self.most <= self.most_bound else "missed"


Pair = tuple[float, float]  # an error, and the half-width of what it was found with


def targets_of(scores: Sequence[Score]) -> list[Target]:
    """All targets; the first is the share of cells without an answer of the numeric tier.

    Parameters
    ----------
    scores : sequence of Score
    """
    unanswered = [0.0 if one.answered("numeric") else 1.0 for one in scores]
    share = float(np.mean(unanswered)) if unanswered else None
    first = Target(
        name="numeric: cells not answered",
        n=len(unanswered),
        n_undecided=0,
        median=share,
        most=share,
        most_decided=share,
        median_bound=_MOST_UNANSWERED,
        most_bound=_MOST_UNANSWERED,
    )
    return [first, *_knees(scores), *_limits(scores), *_latencies(scores)]


def _knees(scores: Sequence[Score]) -> list[Target]:
    free, tight = _by_memory(scores)
    return [
        _target("numeric: knee, KV not binding", _each(free, _knee("numeric")), 0.01, 0.03),
        _target("numeric: knee, KV binding", _each(tight, _knee("numeric")), 0.03, 0.08),
        _target("closed: knee", _each(scores, _knee("closed")), 0.03, 0.10),
    ]


def _limits(scores: Sequence[Score]) -> list[Target]:
    free, tight = _by_memory(scores)
    return [
        _target("stability limit, KV not binding", _each(free, _limit("numeric")), 0.015, 0.015),
        _target("stability limit, KV binding", _each(tight, _limit("numeric")), 0.03, 0.03),
    ]


def _latencies(scores: Sequence[Score]) -> list[Target]:
    low = [one for one in scores if one.cell.load_frac <= 0.8]
    high = [one for one in scores if 0.8 < one.cell.load_frac <= 0.9]
    return [
        _target(
            f"numeric: {metric} at load {band}",
            _each(some, _latency(metric)),
            times * TOLERANCES[metric] / 3,
            times * TOLERANCES[metric],
        )
        for band, some, times in (("<= 0.8", low, 1), ("0.9", high, 2))
        for metric in TOLERANCES
    ]


def _by_memory(scores: Sequence[Score]) -> tuple[list[Score], list[Score]]:
    tight = [one for one in scores if one.binds == "KV memory"]
    return [one for one in scores if one not in tight], tight


def _each(scores: Iterable[Score], read: Callable[[Score], Pair | None]) -> list[Pair]:
    return [pair for one in scores if (pair := read(one)) is not None]


def _knee(tier: str) -> Callable[[Score], Pair | None]:
    def read(one: Score) -> Pair | None:
        error = None if one.knee is None else one.knee.error(tier)
        return None if error is None or one.knee is None else (error, one.knee.half_frac)

    return read


def _limit(tier: str) -> Callable[[Score], Pair | None]:
    def read(one: Score) -> Pair | None:
        limit = one.predicted.get(tier, {}).get("limit_rps")
        if limit is None or one.overload is None:
            return None
        simulated_rps = one.overload.limit_rps
        return limit / simulated_rps - 1, 1.96 * one.overload.limit_error_rps / simulated_rps

    return read


def _latency(metric: str) -> Callable[[Score], Pair | None]:
    def read(one: Score) -> Pair | None:
        error = one.errors.get("numeric", {}).get(metric)
        half = one.simulated.get(f"{metric}_half", math.inf) if one.kind == "steady state" else math.inf
        return None if error is None else (error, half)

    return read


def _target(name: str, pairs: Sequence[Pair], median_bound: float, most_bound: float) -> Target:
    blurred = [half > _SHARP * most_bound for _, half in pairs]
    sizes = np.array([abs(error) for error, _ in pairs])
    counted = np.where(blurred, np.inf, sizes)
    return Target(
        name=name,
        n=len(pairs),
        n_undecided=sum(blurred),
        median=float(np.median(sizes)) if len(pairs) else None,
        most=_most(counted),
        most_decided=_most(counted[~np.array(blurred, dtype=bool)]),
        median_bound=median_bound,
        most_bound=most_bound,
    )


def _most(sizes: np.ndarray) -> float | None:
    place = math.ceil(_MOST_FRAC * len(sizes)) - 1
    return float(np.sort(sizes)[place]) if len(sizes) else None
