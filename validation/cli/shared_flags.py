"""Flags that `predict`, `knee` and `plan` have in common, and how a flag of theirs is made."""

from __future__ import annotations

from cyclopts import Group, Parameter

from .values import choice, reader

__all__ = ["ANSWER", "share_flag", "switch_flag", "tier_flag", "value_flag"]

ANSWER = Group("Answer", sort_key=0)
"""What is asked, above the scenario."""


def value_flag(
    names: str | list[str],
    text: str,
    *,
    group: Group = ANSWER,
    kind: type = str,
    metavar: str = "TEXT",
    read_as: str = "",
) -> Parameter:
    """A flag with one value, whose help says the default itself; ``read_as`` names it in messages."""
    return Parameter(
        name=names,
        help=text,
        group=group,
        converter=reader(read_as, kind),
        n_tokens=1,
        negative=(),
        metavar=metavar,
        show_default=False,
    )


def share_flag(name: str, text: str, *, group: Group = ANSWER) -> Parameter:
    """A flag whose value is a share."""
    return value_flag(name, text, group=group, kind=float, metavar="SHARE")


def switch_flag(name: str, text: str) -> Parameter:
    """A flag without a value, off if it is left out."""
    return Parameter(name=name, help=text, group=ANSWER, negative=(), show_default=False)


def tier_flag(text: str, *tiers: str) -> Parameter:
    """The flag ``--tier``: who answers."""
    return Parameter(
        name="--tier",
        help=f"{text} [numeric]",
        group=ANSWER,
        converter=choice(*tiers),
        n_tokens=1,
        show_default=False,
        metavar="TIER",
    )
