"""Replications until an interval is narrow enough: go on, how many more, or why it will never be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from ._runs import check_level
from .interval import Interval
from .mean import replication_interval
from .stability import Stability

__all__ = ["Decision", "Sequential"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do after the replications seen so far.

    Parameters
    ----------
    go_on : bool
        Whether to run ``n_more`` replications and ask again.
    n_more : int
        Replications to run next, 0 if ``go_on`` is false.
    reached : bool
        Whether the precision asked for is there.
    interval : Interval or None
        What is known; None under two replications.
    reason : str
        Why to go on or to stop, one line for a person.

    Examples
    --------
    >>> said = Sequential(min_replications=5).decide([], n_requests=0)
    >>> said.go_on, said.n_more, said.reason
    (True, 5, '0 of at least 5 replications')
    """

    go_on: bool
    n_more: int
    reached: bool
    interval: Interval | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequential:
    r"""Stop when the half-width is ``precision`` times the estimate: a rule without memory.

    The relative half-width is held against :math:`\gamma / (1 + \gamma)`, so that the error relative to the
    unknown mean is at most :math:`\gamma` [1]_. After :math:`R` replications with relative half-width
    :math:`h` the total need is about :math:`R (h (1 + \gamma) / \gamma)^2`; at most as many again as there
    are already are asked for at once, since early variances are rough. Stopping at a narrow moment costs a
    little coverage, less the more replications there are at least [2]_.

    Parameters
    ----------
    precision : float
        Relative half-width :math:`\gamma`, in (0, 1].
    level : float
        In (0, 1).
    min_replications : int
        Before it decides anything, >= 2.
    max_requests : int
        Requests that may be simulated in all, >= 1.

    Raises
    ------
    ConfigError
        If a number is out of range.

    References
    ----------
    .. [1] Law (2015), "Simulation Modeling and Analysis", 5th ed., section 9.4.1.
    .. [2] Chow and Robbins (1965), "On the asymptotic theory of fixed-width sequential confidence intervals
       for the mean", Annals of Mathematical Statistics 36, 457-462.

    Examples
    --------
    >>> rule = Sequential(precision=0.05, min_replications=4)
    >>> seen = rule.decide([1.0, 1.2, 0.9, 1.1], n_requests=4_000)
    >>> seen.go_on, seen.n_more
    (True, 4)
    >>> rule.decide([1.0, 1.02, 0.99, 1.01], n_requests=4_000).reached
    True
    """

    precision: float = 0.01
    level: float = 0.95
    min_replications: int = 10
    max_requests: int = 10_000_000

    def __post_init__(self) -> None:
        checks.fraction(precision=self.precision)
        check_level(self.level)
        checks.at_least(2, min_replications=self.min_replications)
        checks.integer(max_requests=self.max_requests)

    def decide(
        self,
        values: Sequence[float] | NDArray[np.float64],
        *,
        n_requests: int,
        stability: Stability | None = None,
    ) -> Decision:
        """What to do next.

        Parameters
        ----------
        values : sequence of float
            One number for each replication so far; may be empty.
        n_requests : int
            Requests simulated for them in all, >= 0.
        stability : Stability, optional
            Verdict on the load; an overloaded system has no steady state to estimate, so it ends the study.

        Returns
        -------
        Decision

        Raises
        ------
        ConfigError
            If a value is not finite or ``n_requests`` is negative.
        """
        checks.at_least(0, n_requests=n_requests)
        n = len(values)
        if n and not n_requests:
            raise ConfigError(f"n_requests: 0, but there are {n} replications; count their requests")
        interval = replication_interval(values, level=self.level) if n >= 2 else None
        if stability is not None and stability.verdict == "overloaded":
            return Decision(
                go_on=False,
                n_more=0,
                reached=False,
                interval=interval,
                reason=f"overloaded, there is no steady state: {stability.reason}",
            )
        afford = math.inf if n == 0 else (self.max_requests - n_requests) * n // n_requests
        if interval is None or n < self.min_replications:
            missing = self.min_replications - n
            text = f"{n} of at least {self.min_replications} replications"
            return self._more(missing, afford, interval, text)
        return self._judge(interval, n, afford)

    def _judge(self, interval: Interval, n: int, afford: float) -> Decision:
        width, goal = interval.relative_half_width, self.precision
        target = goal / (1 + goal)
        if width is not None and width <= target:
            text = f"relative half-width {width:.2g} is within {goal:g}"
            return Decision(go_on=False, n_more=0, reached=True, interval=interval, reason=text)
        need = math.inf if width is None else n * (width / target) ** 2
        if width is None or (interval.contains(0) and need - n > afford):
            text = "the mean may be zero, where no relative precision can be reached; judge the limits alone"
            return Decision(go_on=False, n_more=0, reached=False, interval=interval, reason=text)
        text = f"relative half-width {width:.2g} needs about {math.ceil(need)} replications for {goal:g}"
        if need - n > afford:
            text += f", more than max_requests={self.max_requests} allows"
        return self._more(min(math.ceil(need) - n, n), afford, interval, text)

    def _more(self, wanted: int, afford: float, interval: Interval | None, reason: str) -> Decision:
        """Go on with ``wanted`` replications, or as many as max_requests allows; stop at none."""
        n_more = int(min(max(wanted, 1), max(afford, 0)))
        if n_more == 0:
            reason = f"max_requests={self.max_requests} is used up: {reason}"
        return Decision(go_on=n_more > 0, n_more=n_more, reached=False, interval=interval, reason=reason)
