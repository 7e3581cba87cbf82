"""A plan in words: the fleet in the first lines, then what else there is to know, then the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qtheory.planning.prices import Price
from qtheory.report import folded, pairs

from ._plan_facts import fleet_facts, no_fleet, question_facts
from ._plan_rows import Found
from ._plan_tables import lost_lines, plan_tables

__all__ = ["plan_text"]

_MOST_LETTERS = 100  # of a line that is no table


def plan_text(found: Found, prices: Mapping[str, Price], unpriced: Sequence[str], model: str) -> str:
    """The whole answer, for people."""
    facts, asked = fleet_facts(found), question_facts(found.plan, prices, unpriced, model)
    first = pairs(facts, most_letters=_MOST_LETTERS) if facts else no_fleet(found.plan)
    blocks = [first, pairs(asked, most_letters=_MOST_LETTERS)]
    blocks += [one.text() for one in plan_tables(found)]
    lost = [folded(f"  {line}", _MOST_LETTERS, 4) for line in lost_lines(found.plan)]
    return "\n\n".join(blocks + (["\n".join(["No fleet of", *lost])] if lost else []))
