"""M/M(n)/1: a server that works in steps and gives every customer in its batch one unit a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.numerics.clock import NO_TIME
from qtheory.numerics.markov import birth_death
from qtheory.numerics.timelaw import ExponentialSum
from qtheory.queues.result import TimeLaw

from ._common import places_law
from ._step_response import InvertedTail, StepResponse
from ._step_result import StepServerResult, without_limit

__all__ = ["StepServer", "StepServerResult"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_NOTHING = 1e-18
_MOST_STATES = 200_000
_MOST_ROOM = 2000  # places to wait in up to which the law of the response is given


@dataclass(frozen=True, kw_only=True)
class StepServer:
    r"""Exact M/M(n)/1: a step with n in the batch takes ``base_s + slope_s * n`` and serves each a unit.

    The work of a customer is exponential with mean ``mean_steps`` units, so of n in the batch one leaves at
    the total rate :math:`n/(m\,\tau(n))`. Up to ``max_running`` run, the others wait in order of arrival.
    The chain is continuous in time (steps are not resolved) [1]_. Without a limit the number present is
    negative binomial; with so many present that their states cannot be listed, or with more than 2,000
    places to wait in, the law of the response is None.

    Parameters
    ----------
    rate_rps : float
        Mean arrival rate :math:`\lambda` (Poisson), requests per second, > 0.
    base_s, slope_s : float
        Seconds of a step: fixed part and part per customer, >= 0, not both zero.
    mean_steps : float
        Mean work m of a customer, steps, > 0.
    max_running : int or None
        Largest batch, >= 1; None: no limit.
    capacity : int or None
        Customers that can be present, >= 1; an arrival that finds as many is lost. None: no limit.
    step_s : callable (int) -> float, optional
        Any other step time by batch size, > 0, in place of ``base_s + slope_s * n``; needs ``max_running`` or
        ``capacity``.

    Raises
    ------
    ConfigError
        If a parameter is out of range.
    UnstableError
        From `solve` if there is no ``capacity`` and the rate is not below that of a full batch.

    References
    ----------
    .. [1] Cohen (1979), "The multiple phase service network with generalized processor sharing",
       Acta Informatica 12, 245-284.

    Examples
    --------
    >>> server = StepServer(rate_rps=2.0, base_s=0.02, slope_s=0.0005, mean_steps=200, max_running=64)
    >>> answer = server.solve()
    >>> print(f"{1e3 * answer.mean_time_per_step_s:.2f} ms a step, p99 {answer.response.ppf(0.99):.2f} s")
    25.62 ms a step, p99 23.68 s
    """

    rate_rps: float
    base_s: float = 0.0
    slope_s: float = 0.0
    mean_steps: float
    max_running: int | None = None
    capacity: int | None = None
    step_s: Callable[[int], float] | None = None

    def __post_init__(self) -> None:
        checks.positive(rate_rps=self.rate_rps, mean_steps=self.mean_steps)
        checks.non_negative(base_s=self.base_s, slope_s=self.slope_s)
        limits = {"max_running": self.max_running, "capacity": self.capacity}
        checks.integer(**{name: value for name, value in limits.items() if value is not None})
        if self.step_s is None and self.base_s + self.slope_s <= 0:
            raise ConfigError("base_s, slope_s: one of them must be > 0")
        if self.step_s is not None and self.base_s + self.slope_s > 0:
            raise ConfigError("step_s: give either step_s or base_s and slope_s")
        if self.step_s is not None and self.max_running is None and self.capacity is None:
            raise ConfigError("step_s: needs max_running or capacity, as its limit is not known")

    def step_time_s(self, n: int) -> float:
        """Seconds of a step with n in the batch."""
        value = self.base_s + self.slope_s * n if self.step_s is None else float(self.step_s(n))
        if not 0 < value < math.inf:
            raise ConfigError(f"step_s: {value!r} for a batch of {n} must be a finite number > 0")
        return value

    @property
    def capacity_rps(self) -> float:
        """Rate of the largest batch; stable strictly below it, or always with a ``capacity``."""
        if self._limit is not None:
            return self._limit / (self.mean_steps * self.step_time_s(self._limit))
        return 1.0 / (self.mean_steps * self.slope_s) if self.slope_s > 0 else math.inf

    @property
    def _limit(self) -> int | None:
        """Largest batch that can be."""
        given = [limit for limit in (self.max_running, self.capacity) if limit is not None]
        return min(given) if given else None

    @cached_property
    def _leave(self) -> Floats:
        """Rate at which one customer leaves with n in the batch, n = 1, 2, ..."""
        n = self._limit if self._limit is not None else self._far()
        if self.step_s is None:
            return 1.0 / (self.mean_steps * (self.base_s + self.slope_s * np.arange(1.0, n + 1)))
        return 1.0 / (self.mean_steps * np.array([self.step_time_s(k) for k in range(1, n + 1)]))

    def _far(self) -> int:
        """Number present, without limit, beyond which the rest weighs below 1e-18 (a geometric bound)."""
        offered = self.rate_rps * self.mean_steps
        n = 64
        while n <= _MOST_STATES:
            k = np.arange(1.0, n + 1)
            pmf, _ = birth_death(np.full(n, offered), k / (self.base_s + self.slope_s * k))
            after = offered * (self.base_s / (n + 1) + self.slope_s)
            if after < 1 and pmf[-1] * after / (1.0 - after) < _NOTHING:
                break
            n *= 2
        return n

    def solve(self) -> StepServerResult:
        """The steady state."""
        lam = self.rate_rps
        if self.capacity is None and lam >= self.capacity_rps:
            raise UnstableError(
                f"rate_rps={lam:g} is not below capacity_rps={self.capacity_rps:g}; "
                "lower the rate, raise max_running or shorten the steps"
            )
        if self._limit is None and self._far() > _MOST_STATES:
            return without_limit(lam, self.base_s, self.slope_s, self.mean_steps)
        leave = self._leave
        top = len(leave)
        full_rate = top * float(leave[-1])
        n_max = top if self.capacity is None else self.capacity
        running = np.minimum(np.arange(1, n_max + 1), top)
        tail_ratio = lam / full_rate if self.capacity is None and self._limit is not None else 0.0
        pmf, beyond = birth_death(np.full(n_max, lam), running * leave[running - 1], tail_ratio=tail_ratio)
        return self._result(pmf, beyond, tail_ratio, top)

    def _result(self, pmf: Floats, beyond: float, ratio: float, top: int) -> StepServerResult:
        lam, n = self.rate_rps, np.arange(len(pmf))
        last = float(n[-1])
        further = 1.0 / (1.0 - ratio)  # mean distance of the states beyond from the last one
        blocked = float(pmf[-1]) if self.capacity is not None else 0.0
        served = lam * (1.0 - blocked)
        mean = float(pmf @ n) + beyond * (last + further)
        square = float(pmf @ n**2) + beyond * (last**2 + 2 * last * further + further**2 * (1.0 + ratio))
        mean_running = float(pmf @ np.minimum(n, top)) + beyond * top
        mean_queue = float(pmf @ np.maximum(n - top, 0)) + beyond * (last + further - top)
        leave = self._leave
        out = float(pmf @ np.concatenate([[0.0], (np.minimum(n, top) * leave[np.minimum(n, top) - 1])[1:]]))
        _check_flow(served, out + beyond * top * float(leave[-1]))
        prob_wait, wait, response = self._laws(pmf, beyond, top, mean / served)
        return StepServerResult(
            exactness="exact",
            route="birth-death chain; law of the response by transform inversion",
            utilization_frac=1.0 - float(pmf[0]),
            mean_wait_s=mean_queue / served,
            mean_response_s=mean / served,
            mean_number=mean,
            mean_queue=mean_queue,
            prob_wait=prob_wait,
            prob_empty=float(pmf[0]),
            wait=wait,
            response=response,
            number_pmf=lambda k: _probability(pmf, ratio, k),
            capacity_rps=self.capacity_rps,
            throughput_rps=served,
            prob_block=blocked,
            mean_running=mean_running,
            mean_time_per_step_s=mean_running / (served * self.mean_steps),
            var_number=square - mean**2,
        )

    def _laws(
        self, pmf: Floats, beyond: float, top: int, mean_s: float
    ) -> tuple[float, TimeLaw, TimeLaw | None]:
        """P(wait) and the two laws, of those who are accepted."""
        lam, leave = self.rate_rps, self._leave
        served = top * float(leave[-1])
        if self.capacity is None:
            prob_wait = (float(pmf[-1]) + beyond) if self._limit is not None else 0.0
            spare = served - lam
            wait: TimeLaw = (
                ExponentialSum(weights=(prob_wait,), rates_per_s=(spare,)) if prob_wait else NO_TIME
            )
            slowest = min(spare, 1.0 / mean_s) if prob_wait else 1.0 / mean_s
            found = StepResponse(
                rate_rps=lam, leave=leave, pmf=pmf[:top], prob_wait=prob_wait, room=None, queue=np.empty(0)
            )
        else:
            accepted = pmf[:-1] / (1.0 - pmf[-1])
            place = accepted[top:]  # place k of the queue, k = 1, 2, ...
            prob_wait = float(place.sum())
            wait = places_law(place, served)
            if len(place) > _MOST_ROOM:
                return prob_wait, wait, None
            slowest = min(1.0 / mean_s, served / (1 + len(place)))
            found = StepResponse(
                rate_rps=lam,
                leave=leave,
                pmf=accepted[:top],
                prob_wait=prob_wait,
                room=len(place),
                queue=place,
            )
        response = InvertedTail(tail_lst=found.tail_lst, mean_s=mean_s, found=found, slowest=slowest)
        return prob_wait, wait, response


def _probability(pmf: Floats, ratio: float, n: int) -> float:
    if n < 0:
        return 0.0
    if n < len(pmf):
        return float(pmf[n])
    return float(pmf[-1]) * ratio ** (n - len(pmf) + 1)


def _check_flow(rate_in: float, rate_out: float) -> None:
    if abs(rate_out - rate_in) > 1e-9 * rate_in:
        raise ConvergenceError(f"{rate_in:.12g} requests/s come, {rate_out:.12g} leave; the solution is off")
