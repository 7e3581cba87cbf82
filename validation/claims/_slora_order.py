"""The order of S-LoRA's server where it gives up who is late: earliest first, or latest first in a rush."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sim.job import JobView
from sim.plan import View

__all__ = ["RushLedger", "RushOrder"]

J = TypeVar("J", bound=JobView)
_NEW_WEIGHT, _OLD_WEIGHT = 0.7, 0.3


@dataclass(slots=True, kw_only=True)
class RushLedger:
    """What that server remembers from one look at its queue to the next.

    Parameters
    ----------
    n_came : int
        Running estimate of requests that come between two looks.
    n_taken : int
        Running estimate of requests taken in at once.
    n_left : int
        Requests that waited after the last ones were taken in.

    Examples
    --------
    >>> ledger = RushLedger()
    >>> ledger.look(n_waiting=0, now_s=0.0)
    False
    >>> ledger.look(n_waiting=9, now_s=1.0)  # 9 have come, one is taken in at once
    True
    """

    n_came: int = 1
    n_taken: int = 1
    n_left: int = 0
    _admitted: int = field(default=0, init=False)
    _given_up: int = field(default=0, init=False)
    _n_waited: int = field(default=0, init=False)
    _looked_s: float = field(default=-1.0, init=False)
    _is_rush: bool = field(default=False, init=False)

    def arrived(self, job: JobView) -> None:
        """Those who wait are counted when the server looks."""

    def returned(self, job: JobView) -> None:
        """Nobody is preempted by this server."""

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        """Taken in, or given up as late."""
        self._admitted += is_admitted
        self._given_up += not is_admitted

    def sampled(self, job: JobView) -> None:
        """Tokens do not matter."""

    def counters(self) -> dict[int, float]:
        """Nothing is kept by client."""
        return {}

    def look(self, *, n_waiting: int, now_s: float) -> bool:
        """Whether the latest go first from now on; the same until the clock has moved."""
        if now_s == self._looked_s:
            return self._is_rush
        if self._admitted:
            self.n_left = self._n_waited - self._admitted
            self.n_taken = max(int(_NEW_WEIGHT * self._admitted + _OLD_WEIGHT * self.n_taken), 1)
        came = n_waiting + self._given_up - self.n_left  # those given up since waited for this look too
        self.n_came = int(_NEW_WEIGHT * came + _OLD_WEIGHT * self.n_came)
        self._is_rush = self.n_came >= self.n_taken
        self._looked_s, self._n_waited = now_s, n_waiting
        self._admitted = self._given_up = 0
        return self._is_rush


@dataclass(frozen=True, slots=True)
class RushOrder:
    """Latest first while more come between two looks than are taken in at once, else earliest first [1]_.

    References
    ----------
    .. [1] S-LoRA/S-LoRA @ 2a2786b, ``slora/server/router/abort_req_queue.py``.

    Examples
    --------
    >>> RushOrder().open_ledger().n_taken
    1
    """

    def arrange(self, waiting: Sequence[J], view: View, ledger: RushLedger) -> Iterator[J]:
        """Either end of the queue first."""
        is_rush = ledger.look(n_waiting=len(waiting), now_s=view.now_s)
        return reversed(waiting) if is_rush else iter(waiting)

    def open_ledger(self) -> RushLedger:
        """Fresh for one run."""
        return RushLedger()
