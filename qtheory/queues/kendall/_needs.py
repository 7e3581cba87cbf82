"""Which parameters a name asks for, in which ways they can be given, and what is wrong with those given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .model import KendallModel
from .notation import Notation, Slot

__all__ = ["ARRIVAL_SIDE", "SERVICE_SIDE", "Need", "check_given", "from_name", "has_side", "needs_of"]

ARRIVAL_SIDE = ("rate_rps", "interval", "arrivals")
SERVICE_SIDE = ("service_rate_rps", "mean_service_s", "service_s", "service")
_SLOTS = {"servers": "n_servers", "capacity": "capacity", "least": "min_batch", "most": "max_batch"}

_ARRIVALS = {
    "M": ("rate_rps",),
    "D": ("rate_rps", "interval"),
    "E": ("rate_rps", "interval"),
    "MAP": ("without with_arrival", "arrivals", "without with_arrival rate_rps", "arrivals rate_rps"),
    "MMPP": ("rates_rps leave_per_s", "rates_rps leave_per_s rate_rps"),
}
_INTERVALS = ("interval", "interval rate_rps")
_SERVICES = {
    "M": ("service_rate_rps", "mean_service_s", "service"),
    "D": ("service_s", "mean_service_s", "service_rate_rps", "service"),
    "E": ("mean_service_s", "service_rate_rps", "service"),
}
_LAWS = ("service", "service service_rate_rps", "service mean_service_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that must be said, and the ways to say it: sets of parameters."""

    ways: tuple[frozenset[str], ...]
    first: str
    optional: bool = False

    @property
    def names(self) -> frozenset[str]:
        """All parameters of any way."""
        return frozenset().union(*self.ways)


def has_side(model: KendallModel, side: Collection[str]) -> bool:
    """Whether the letters of the name decide how this side of the model is given."""
    return model.pattern is not None and any(name in side for name in model.takes)


def needs_of(model: KendallModel, notation: Notation | None) -> list[Need]:
    """What the name leaves open."""
    found, sides = [], (ARRIVAL_SIDE, SERVICE_SIDE)
    if notation is not None and has_side(model, ARRIVAL_SIDE):
        ways = _ARRIVALS.get(notation.arrivals, _INTERVALS)
        if model.by_moments and ways is _INTERVALS:
            ways = (*ways, "rate_rps scv_interval")
        found.append(_need(ways, needs_phases=_is_open(notation.arrivals, notation.arrival_phases)))
    if notation is not None and has_side(model, SERVICE_SIDE):
        ways = _SERVICES.get(notation.service, _LAWS)
        if model.by_moments and ways is _LAWS:
            ways = (*ways, "mean_service_s scv_service", "service_rate_rps scv_service")
        found.append(_need(ways, needs_phases=_is_open(notation.service, notation.service_phases)))
    skipped = {name for side in sides if notation is not None and has_side(model, side) for name in side}
    known = set(from_name(model, notation))
    for name in (*model.takes, *model.may):
        if name not in skipped | known | {"n_phases"}:
            found.append(Need(ways=(frozenset([name]),), first=name, optional=name in model.may))
    return found


def _is_open(letter: str, phases: Slot) -> bool:
    """Whether the name has Erlang's law without its number of phases."""
    return letter == "E" and phases == "k"


def _need(ways: Iterable[str], *, needs_phases: bool) -> Need:
    sets = [frozenset(way.split()) for way in ways]
    if needs_phases:  # the law of Erlang brings its phases along
        sets = [way if way & {"interval", "service"} else way | {"n_phases"} for way in sets]
    first = " and ".join(name for name in next(iter(ways)).split())
    return Need(ways=tuple(sets), first=first + (" and n_phases" if needs_phases else ""))


def from_name(model: KendallModel, notation: Notation | None) -> dict[str, int]:
    """Numbers that stand in the name, by parameter."""
    if notation is None:
        return {}
    slots = {parameter: getattr(notation, slot) for slot, parameter in _SLOTS.items()}
    return {name: value for name, value in slots.items() if name in model.takes and isinstance(value, int)}


def check_given(model: KendallModel, notation: Notation | None, title: str, given: Mapping[str, Any]) -> None:
    """Raise unless just what the name asks for is given."""
    needs = needs_of(model, notation)
    if sum("n_phases" in need.names for need in needs) > 1:
        raise ConfigError(
            f"n_phases: {title} has two Erlang laws; write their phases in the name, as E2/E3/1"
        )
    for name, number in from_name(model, notation).items():
        if name in given:
            raise ConfigError(f"{name}: is {number} in the name {title!r} already; leave one of the two out")
    taken = {name: None for need in needs for name in sorted(need.names)}
    for name in given:
        if name not in taken:
            hint = checks.nearest(name, set(taken) - set(given), cutoff=0.75)
            raise ConfigError(f"{name}: {title} takes none{hint}; it takes {_list(needs)}")
    for need in needs:
        said = frozenset(given) & need.names
        if said in need.ways or (need.optional and not said):
            continue
        if not said:
            parameter = model.parameter(need.first.split()[0])
            raise ConfigError(
                f"{need.first}: missing; {title} needs {_ways(need)}: {str(parameter).partition(': ')[2]}"
            )
        raise ConfigError(f"{', '.join(sorted(said))}: {title} needs {_ways(need)}")


def _ways(need: Need) -> str:
    """The ways that do not only add to a shorter one."""
    least = [way for way in need.ways if not any(other < way for other in need.ways)]
    return " or ".join(" with ".join(_ordered(need, way)) for way in least)


def _ordered(need: Need, way: frozenset[str]) -> list[str]:
    return sorted(way, key=lambda name: (name not in need.first.split(), name))


def _list(needs: list[Need]) -> str:
    return ", ".join(need.first + (" if you like" if need.optional else "") for need in needs) or "nothing"
