"""The unknown for which a condition just holds: the largest rate, the fewest servers, the slowest server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._grid import Grid
from ._needs import SERVICE_SIDE, from_name
from ._probe import BROKEN, FAILS, HOLDS, UNSTABLE, Probe
from .answer import QueueAnswer
from .condition import Condition, parse_condition
from .front import NamedQueue
from .model import find_model
from .parameters import Parameter

__all__ = ["Solution", "solve_for", "stability_limit"]

Verdict = Literal["found", "everywhere", "nowhere"]

_LARGEST = {
    "rate_rps", "mean_service_s", "service_s", "scv_service", "scv_interval", "base_s", "slope_s", "unit_s",
    "mean_steps", "population", "n_branches", "threshold", "min_batch",
}  # fmt: skip
"""Unknowns of which more is harder; of all others the least that is enough is looked for."""
_SHARES = (0.9, 0.99, 0.999, 0.9999, 0.99999)
_FINE = 1.5
_FURTHER = 64


@dataclass(frozen=True, kw_only=True)
class Solution:
    """What was found.

    Parameters
    ----------
    unknown : Parameter
        What was looked for.
    conditions : tuple of Condition
        What must hold.
    verdict : str
        ``found``; ``everywhere``: every value that can be does; ``nowhere``: none does.
    value : float or None
        The outermost value for which the conditions hold: a whole number, or one of six digits.
    is_largest : bool
        Whether it is the largest such value, else the smallest.
    answer : QueueAnswer or None
        The queue with it.
    says : str
        One line for a person: what happens at the next value, or why there is none.

    Examples
    --------
    >>> asked = NamedQueue(name="M/M/1", given={"service_rate_rps": 1.0})
    >>> found = solve_for(asked, "rate: p99_response_s<=9.210341")
    >>> found.value, found.is_largest, found.verdict
    (0.5, True, 'found')
    """

    unknown: Parameter
    conditions: tuple[Condition, ...]
    verdict: Verdict
    value: float | None
    is_largest: bool
    answer: QueueAnswer | None
    says: str

    def row(self) -> dict[str, Any]:
        """The solution by name, ready to be written."""
        return {
            "model": None if self.answer is None else self.answer.asked.title,
            "unknown": self.unknown.name,
            "condition": " and ".join(map(str, self.conditions)),
            "verdict": self.verdict,
            "extreme": "largest" if self.is_largest else "smallest",
            "value": self.value,
            "says": self.says,
        }


def solve_for(asked: NamedQueue, text: str) -> Solution:
    """The outermost value of an unknown for which conditions hold.

    The conditions are evaluated on steps of a factor of 10 (2 for whole numbers) until they change, and then
    by halving. They need not be monotone: a change is found, and what lies beyond it is said.

    Parameters
    ----------
    asked : NamedQueue
        With all parameters but the unknown.
    text : str
        As in ``rate: p99_response_s<=3``; see `parse_condition`. The rate is that of all classes together.

    Raises
    ------
    ConfigError
        If the text or a parameter is wrong, or the model does not give the quantity.

    Examples
    --------
    >>> asked = NamedQueue(name="M/M/c", given={"rate_rps": 8.0, "service_rate_rps": 1.0})
    >>> found = solve_for(asked, "n_servers: p99_wait_s<=0.5")
    >>> found.value, found.says
    (13, 'with 12 it is p99_wait_s = 0.659481')
    """
    name, conditions = parse_condition(text, _unknowns(asked), from_name(*find_model(asked.name)))
    in_list = name == "rate_rps" and name in asked.entry.each
    if name in asked.given and not in_list:
        raise ConfigError(f"{name}: is the unknown and given too; leave one of the two out")
    rivals = [other for other in asked.given if {name, other} <= set(SERVICE_SIDE) - {"service"}]
    if rivals:
        raise ConfigError(f"{rivals[0]}: decides {name}, the unknown; leave it out")
    unknown = asked.entry.parameter(name)
    probe = Probe(asked=asked, name=name, conditions=conditions, grid=Grid(whole=unknown.kind == "whole"))
    start = probe.grid.index(probe.scale())
    if start > probe.grid.ends[1]:  # a very large system: some more decades beyond where it begins
        probe.grid = replace(probe.grid, most=_FURTHER * start)
    probe.check(start)
    bracket = _bracket(probe, start, wish_up=name in _LARGEST)
    if bracket is None:
        return _no_change(probe, unknown, start)
    held, other = probe.narrowed(*bracket)
    stable = {probe.seen[index] for index in probe.seen} - {UNSTABLE, BROKEN}
    every = stable == {HOLDS} and probe(other) == UNSTABLE
    return Solution(
        unknown=unknown,
        conditions=conditions,
        verdict="everywhere" if every else "found",
        value=probe.grid.value(held),
        is_largest=other > held,
        answer=probe.answers[held],
        says=("it holds wherever there is a steady state: " if every else "") + probe.told(other),
    )


def _unknowns(asked: NamedQueue) -> list[Parameter]:
    """Numbers that the name leaves open."""
    names = [
        name
        for name in asked.open_names()
        if asked.entry.parameter(name).kind in ("number", "whole")
        and (name == "rate_rps" or not asked.entry.is_each(name))
    ]
    return [asked.entry.parameter(name) for name in names]


def _walk(probe: Probe, start: int, *, up: bool) -> Iterator[tuple[int, int]]:
    """Pairs of neighbours outwards, until values hardly change any more or cannot be computed."""
    before, here = None, start
    while (there := probe.grid.further(here, up=up)) is not None:
        yield here, there
        if probe(there) == BROKEN and probe(here) not in (UNSTABLE, BROKEN):
            if probe(here) == FAILS and probe.is_refused(there):
                yield here, probe.last_allowed(here, there)
            return
        if before is not None and probe.is_settled(before, here, there):
            return
        before, here = here, there


def _bracket(probe: Probe, start: int, *, wish_up: bool) -> tuple[int, int] | None:
    """An index where the conditions hold and one outwards where they do not.

    Where they are just not met counts before where there is no steady state or the model ends.
    """
    holds = probe(start) == HOLDS
    if holds and not wish_up and start == probe.grid.ends[0]:
        return None  # the smallest there can be is enough
    ends = []
    for up in (wish_up, not wish_up) if holds else (not wish_up, wish_up):
        for here, there in _walk(probe, start, up=up):
            if (probe(there) == HOLDS) != (probe(here) == HOLDS):
                held, other = (here, there) if probe(here) == HOLDS else (there, here)
                if probe(other) == FAILS:
                    return held, other
                ends.append((held, other))
    if ends:
        return ends[0]
    return None if holds else _between(probe, wish_up=wish_up)


def _between(probe: Probe, *, wish_up: bool) -> tuple[int, int] | None:
    """A place between large steps where the conditions hold: near the stability limit, or anywhere."""
    seen = sorted(probe.seen.items())
    for (a, first), (b, second) in pairwise(seen):
        if (first == UNSTABLE) == (second == UNSTABLE) or BROKEN in (first, second):
            continue
        stable, beyond = (b, a) if first == UNSTABLE else (a, b)
        if probe.is_worse(stable, than=probe.grid.further(stable, up=beyond < stable)):
            continue  # towards the limit it gets ever worse, and ever slower to compute
        last = probe.last_stable(stable, beyond)
        tries = [last]
        if not probe.grid.whole:
            edge = probe.grid.value(last)
            tries = [probe.grid.index(edge * (s if beyond > stable else 1 / s)) for s in _SHARES] + tries
        for index in tries:
            if probe(index) == HOLDS:
                fails = [other for other, verdict in probe.seen.items() if verdict == FAILS]
                return index, min(fails, key=lambda other: abs(other - index), default=beyond)
    low, high = probe.middle()
    value = probe.grid.value(low)
    while value < probe.grid.value(high):
        index = probe.grid.index(value)
        if probe(index) == HOLDS:
            return index, high if wish_up else low
        value *= _FINE
    return None


def _no_change(probe: Probe, unknown: Parameter, start: int) -> Solution:
    """All values do, or none does."""
    probe.raise_if_broken()
    holds = probe(start) == HOLDS
    smallest = holds and start == probe.grid.ends[0] and unknown.name not in _LARGEST
    if smallest:
        says = f"{probe.grid.value(start):g} is the smallest there can be"
    elif holds:
        low, high = (probe.grid.value(end) for end in (min(probe.seen), max(probe.seen)))
        says = f"it holds from {low:g} to {high:g}, and hardly changes beyond: every value will do"
    else:
        says = f"no value does: {probe.closest()}"
    verdict: Verdict = "found" if smallest else "everywhere" if holds else "nowhere"
    return Solution(
        unknown=unknown,
        conditions=probe.conditions,
        verdict=verdict,
        value=probe.grid.value(start) if smallest else None,
        is_largest=unknown.name in _LARGEST,
        answer=probe.answers.get(start) if smallest else None,
        says=says,
    )


def stability_limit(asked: NamedQueue) -> float | None:
    """The arrival rate from which on there is no steady state; None if there is always one.

    Parameters
    ----------
    asked : NamedQueue
        A rate that is given is not used; rates of classes keep their shares.

    Raises
    ------
    ConfigError
        If the queue has no arrival rate, or a parameter is wrong.

    Examples
    --------
    >>> stability_limit(NamedQueue(name="M/M/4", given={"service_rate_rps": 2.0}))
    8.0
    """
    if "rate_rps" not in asked.open_names():
        raise ConfigError(f"rate_rps: {asked.title} has no arrival rate that could be varied")
    grid = Grid(whole=False)
    probe = Probe(asked=asked, name="rate_rps", conditions=(), grid=grid)
    checks.positive(scale=probe.scale())
    here = grid.index(probe.scale())
    probe.check(here)
    while probe(here) in (UNSTABLE, BROKEN):
        down = grid.further(here, up=False)
        if down is None:
            probe.raise_if_broken()
            raise ConfigError(f"rate_rps: {asked.title} has no steady state at any rate")
        here = down
    for stable, beyond in _walk(probe, here, up=True):
        if probe(beyond) == UNSTABLE:
            return grid.value(probe.last_stable(stable, beyond) + 1)
    return None
