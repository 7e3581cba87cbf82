"""When requests come: a fixed number of clients, or a trace."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.ranges import at_most

from ._limits import LONGEST_S
from .arrivals import Arrivals, spelled

__all__ = ["ClosedLoop", "Replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop(Arrivals):
    """A fixed number of clients, each with at most one request in flight.

    Parameters
    ----------
    concurrency : int
        Clients, >= 1.
    think_s : float
        Seconds from an answer to the next request of the same client, 0 .. 1e9.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> loop = ClosedLoop(concurrency=64)
    >>> loop.in_flight_cap, str(loop)
    (64, 'closed(concurrency=64)')
    """

    concurrency: int
    think_s: float = 0.0

    def __post_init__(self) -> None:
        checks.integer(concurrency=self.concurrency)
        at_most(10**9, concurrency=self.concurrency)
        checks.non_negative(think_s=self.think_s)
        at_most(LONGEST_S, think_s=self.think_s)

    @property
    def in_flight_cap(self) -> int:
        return self.concurrency

    def __str__(self) -> str:
        return spelled("closed", concurrency=self.concurrency, think_s=self.think_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Arrivals):
    """The times of a trace, the first at 0.

    Parameters
    ----------
    speed : float
        Divides the times, > 0; 2 replays an hour in half of one.
    client_cap : int
        Largest number of requests in flight at the client, >= 0; 0 is no limit.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> str(Replay(speed=2.0))
    'replay(speed=2)'
    """

    speed: float = 1.0
    client_cap: int = 0

    def __post_init__(self) -> None:
        checks.positive(speed=self.speed)
        checks.at_least(0, client_cap=self.client_cap)

    @property
    def in_flight_cap(self) -> int:
        return self.client_cap

    def __str__(self) -> str:
        return spelled("replay", speed=self.speed, client_cap=self.client_cap)
