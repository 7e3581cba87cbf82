"""Conditions such as ``rate: p99_response_s<=3 and prob_block<=0.01``: an unknown and what it must reach."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .parameters import PARAMETERS, Parameter

__all__ = ["Condition", "parse_condition", "unknown_name"]

_FORM = "write unknown: quantity<=number, as in 'rate: p99_response_s<=3'"
_PART = re.compile(r"(?P<quantity>[^<>=]+?)\s*(?P<relation><=|>=|<|>)\s*(?P<limit>\S+)")
_SHORT = {"rate": "rate_rps", "service_rate": "service_rate_rps", "mean_service": "mean_service_s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A quantity and its limit.

    Parameters
    ----------
    quantity : str
        As `QueueAnswer.value` takes it.
    relation : str
        ``<=``, ``<``, ``>=`` or ``>``.
    limit : float
        In the unit of the quantity.

    Examples
    --------
    >>> condition = Condition(quantity="p99_wait_s", relation="<=", limit=0.5)
    >>> print(condition, condition.holds(0.5), condition.holds(0.6))
    p99_wait_s <= 0.5 True False
    """

    quantity: str
    relation: str
    limit: float

    def __str__(self) -> str:
        return f"{self.quantity} {self.relation} {self.limit:.10g}"

    def holds(self, value: float) -> bool:
        """Whether the value is on the right side of the limit."""
        return {
            "<=": value <= self.limit,
            "<": value < self.limit,
            ">=": value >= self.limit,
            ">": value > self.limit,
        }[self.relation]


def unknown_name(text: str) -> str:
    """The parameter that a word means, in full.

    Parameters
    ----------
    text : str
        A parameter, with or without its unit, dashes for underscores allowed.

    Examples
    --------
    >>> unknown_name("rate"), unknown_name("n-servers"), unknown_name("limit")
    ('rate_rps', 'n_servers', 'limit')
    """
    name = text.strip().lower().replace("-", "_").replace(" ", "_")
    if name in PARAMETERS:
        return name
    return _SHORT.get(name, f"{name}_s" if f"{name}_s" in PARAMETERS else name)


def parse_condition(
    text: str, known: Sequence[Parameter], in_name: Mapping[str, int] = MappingProxyType({})
) -> tuple[str, tuple[Condition, ...]]:
    """The unknown and the conditions of a text.

    Parameters
    ----------
    text : str
        ``unknown: quantity<=number``; several conditions with ``and`` between them.
    known : sequence of Parameter
        What the unknown can be.
    in_name : mapping
        Parameters that are numbers in the name of the model already, and so cannot be unknown.

    Raises
    ------
    ConfigError
        If the text has another form.

    Examples
    --------
    >>> name, (first, second) = parse_condition(
    ...     "n_servers: p99_wait_s<=0.5 and prob_wait < .2", [PARAMETERS["n_servers"]]
    ... )
    >>> print(f"{name}: {first}, {second}")
    n_servers: p99_wait_s <= 0.5, prob_wait < 0.2
    """
    head, colon, rest = text.partition(":")
    if not colon or not head.strip():
        raise ConfigError(f"solve: {checks.shown(text)} names no unknown; {_FORM}")
    names = [parameter.name for parameter in known]
    name = unknown_name(head)
    if name not in names and f"{name}_s" in names:
        name = f"{name}_s"
    if name in in_name:
        raise ConfigError(
            f"solve: {name} is {in_name[name]} in the name; write a letter there, as in M/M/c/K"
        )
    if name not in names:
        hint = checks.nearest(head.strip(), [*names, *_SHORT], cutoff=0.75)
        raise ConfigError(
            f"solve: {checks.shown(head.strip())} cannot be the unknown{hint}; one of {', '.join(names)}"
        )
    return name, tuple(_condition(part) for part in re.split(r"\s+and\s+", rest.strip(), flags=re.IGNORECASE))


def _condition(text: str) -> Condition:
    found = _PART.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"solve: {checks.shown(text)} is no condition; {_FORM}")
    try:
        limit = float(found["limit"])
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ConfigError(f"solve: {found['limit']!r} is not a finite number; {_FORM}")
    return Condition(quantity=found["quantity"].strip(), relation=found["relation"], limit=limit)
