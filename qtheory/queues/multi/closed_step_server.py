"""A closed group of users around one server that works in steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.numerics.markov import birth_death
from qtheory.numerics.timelaw import TransformLaw
from qtheory.queues.result import QueueResult, TimeLaw

from ._common import check_little
from ._step_response import InvertedTail, StepResponse

__all__ = ["ClosedStepResult", "ClosedStepServer"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_MOST_ROOM = 2000  # places to wait in up to which the law of the response is given


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedStepResult(QueueResult):
    """Steady state of a closed group.

    Parameters
    ----------
    throughput_rps : float
        Completed per second.
    mean_running : float
        Time average of those in the batch.
    mean_time_per_step_s : float
        Mean time in the batch per unit of work.

    Examples
    --------
    >>> from qtheory.queues.multi import ClosedStepServer
    >>> server = ClosedStepServer(population=8, base_s=0.02, slope_s=0.001, mean_steps=100, think_s=5.0)
    >>> answer = server.solve()
    >>> print(f"{answer.throughput_rps:.4f} {answer.mean_running:.4f} {answer.mean_time_per_step_s:.5f}")
    1.0929 2.5353 0.02320
    """

    throughput_rps: float
    mean_running: float
    mean_time_per_step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedStepServer:
    r"""Exact closed M(n)/1: each of ``population`` users thinks, then has one request served in steps.

    A step with n in the batch takes ``base_s + slope_s * n`` and serves each a unit; work is exponential with
    mean ``mean_steps`` units, think times are exponential (any law gives the same means [1]_). The law of the
    response is that of a customer who finds the others as they would be without it; with more than 2,000
    places to wait in it is left out.

    Parameters
    ----------
    population : int
        Users, >= 1.
    base_s, slope_s : float
        Seconds of a step: fixed part and part per customer, >= 0, not both zero.
    mean_steps : float
        Mean work m of a request, steps, > 0.
    think_s : float
        Mean think time, seconds, >= 0; 0: everybody always has a request.
    max_running : int or None
        Largest batch, >= 1; None: no limit.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    References
    ----------
    .. [1] Baskett, Chandy, Muntz, Palacios (1975), "Open, closed, and mixed networks of queues with different
       classes of customers", J. ACM 22, 248-260.

    Examples
    --------
    >>> answer = ClosedStepServer(population=32, base_s=0.02, slope_s=0.0005, mean_steps=200).solve()
    >>> print(f"{answer.throughput_rps:.4f} per second, {answer.mean_response_s:.2f} s")  # 32 / (200 * 0.036)
    4.4444 per second, 7.20 s
    """

    population: int
    base_s: float = 0.0
    slope_s: float = 0.0
    mean_steps: float
    think_s: float = 0.0
    max_running: int | None = None

    def __post_init__(self) -> None:
        checks.integer(population=self.population)
        checks.positive(mean_steps=self.mean_steps)
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s, think_s=self.think_s)
        if self.base_s + self.slope_s <= 0:
            raise ConfigError("base_s, slope_s: one of them must be > 0")
        if self.max_running is not None:
            checks.integer(max_running=self.max_running)

    def solve(self) -> ClosedStepResult:
        """The steady state."""
        n_users = self.population
        n = np.arange(n_users + 1)
        running = np.minimum(n, self.max_running or n_users)
        rate = running / (self.mean_steps * (self.base_s + self.slope_s * running))
        if self.think_s > 0:
            pmf, _ = birth_death((n_users - n[:-1]) / self.think_s, rate[1:])
        else:
            pmf = (n == n_users).astype(float)
        through = float(pmf @ rate)
        mean, mean_running = float(pmf @ n), float(pmf @ running)
        check_little(through, self.think_s, n_users - mean)
        return ClosedStepResult(
            exactness="exact",
            route="birth-death chain; law of the response by transform inversion",
            utilization_frac=1.0 - float(pmf[0]),
            mean_wait_s=(mean - mean_running) / through,
            mean_response_s=mean / through,
            mean_number=mean,
            mean_queue=mean - mean_running,
            prob_empty=float(pmf[0]),
            response=self._response(rate[1:] / running[1:], mean / through),
            number_pmf=lambda k: float(pmf[k]) if 0 <= k <= n_users else 0.0,
            throughput_rps=through,
            mean_running=mean_running,
            mean_time_per_step_s=mean_running / (through * self.mean_steps),
        )

    def _response(self, leave: Floats, mean_s: float) -> TimeLaw | None:
        """Law of the response: an arrival finds the others as they are without it [1]_."""
        n_users = self.population
        limit = min(self.max_running or n_users, n_users)
        room = n_users - limit
        if room > _MOST_ROOM:
            return None
        if self.think_s == 0:
            return _saturated(room, limit, float(leave[limit - 1]))
        others = np.arange(1, n_users)
        running = np.minimum(others, limit)
        idle = n_users - np.arange(1.0, n_users + 1)  # the others who think, with 1, 2, ... present
        found = np.ones(1)
        if n_users > 1:
            found = birth_death(idle[:-1] / self.think_s, running * leave[running - 1])[0]
        slowest = min(1.0 / mean_s, limit * float(leave[-1]) / (1 + room))
        inside = StepResponse(
            rate_rps=0.0,
            leave=leave[:limit],
            pmf=found[:limit],
            prob_wait=float(found[limit:].sum()),
            room=room,
            queue=found[limit:],
            come=idle / self.think_s,
        )
        law = InvertedTail(tail_lst=inside.tail_lst, mean_s=mean_s, found=inside, slowest=slowest)
        check_little(1.0, mean_s, float(inside.tail_lst(np.array([1e-9j / mean_s]))[0].real))
        return law


def _saturated(room: int, limit: int, leave: float) -> TransformLaw:
    """Everybody always has a request: a wait for ``room`` completions, then an exponential time."""
    full = limit * leave

    def tail_lst(s: Complexes) -> Complexes:
        waited = np.exp(-room * np.log1p(s / full))
        return np.asarray((1.0 - waited * leave / (s + leave)) / s)

    return TransformLaw(
        tail_lst=tail_lst,
        mean_s=room / full + 1.0 / leave,
        variance_s2=room / full**2 + 1.0 / leave**2,
    )
