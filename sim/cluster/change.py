"""What happens to replicas while they serve: they fail, are drained, start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["CHANGES", "Change", "check_changes"]

CHANGES = ("fail", "drain", "start")
"""Kinds of changes."""


class Change(NamedTuple):
    """A change of one replica.

    A replica that fails loses its memory and the step that it is in; its requests go to others at once and
    keep the tokens that were delivered, which are computed again with their prompts. One that is drained
    takes no more requests and serves those that it has. One that starts takes requests: after a failure, or
    if ``start`` is its first change (it does not stand before), with empty memory.

    Parameters
    ----------
    at_s : float
        Moment, seconds.
    replica : int
        Its number, from 0.
    kind : str
        One of `CHANGES`.

    Examples
    --------
    >>> Change(12.5, 0, "fail").kind
    'fail'
    """

    at_s: float
    replica: int
    kind: str


def check_changes(changes: Sequence[Change], n_replicas: int) -> list[Change]:
    """The changes in the order of time, if all make sense.

    Parameters
    ----------
    changes : sequence of Change
    n_replicas : int
        Replicas that there are.

    Raises
    ------
    ConfigError
        If a moment is below zero, a replica is not there, a kind is unknown, or a replica that takes no
        requests is to fail or to be drained, or one that takes them is to start.

    Examples
    --------
    >>> check_changes([Change(5.0, 0, "start"), Change(2.0, 0, "drain")], n_replicas=1)[0].kind
    'drain'
    """
    in_order = sorted(changes, key=lambda change: change.at_s)
    state: dict[int, str] = {}
    for change in in_order:
        checks.non_negative(at_s=change.at_s)
        checks.at_least(0, replica=change.replica)
        checks.one_of("change", change.kind, CHANGES)
        if change.replica >= n_replicas:
            raise ConfigError(f"replica: {change.replica} must be below {n_replicas}, the number of replicas")
        before = state.get(change.replica, "nothing")
        allowed = {
            "nothing": CHANGES,
            "start": ("fail", "drain"),
            "drain": ("fail", "start"),
            "fail": ("start",),
        }[before]
        if change.kind not in allowed:
            raise ConfigError(
                f"change: replica {change.replica} is to {change.kind} at {change.at_s:g} s, but its last "
                f"change is {before!r}; next may come {' or '.join(allowed)}"
            )
        state[change.replica] = change.kind
    return in_order
