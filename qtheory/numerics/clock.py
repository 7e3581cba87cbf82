"""Times counted in jumps of a Poisson clock, and exponential times after a wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel, gammainc

from qtheory.basics.errors import ConfigError, ConvergenceError

from .markov import poisson_pmf
from .roots import quantile
from .taillaw import TailLaw

__all__ = ["NO_TIME", "ClockedLaw", "count_alive", "exponential_after", "then_phase_type"]

Floats = NDArray[np.float64]

_GONE = 1e-17  # share still alive at which a count stops


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClockedLaw:
    r"""Exact law of a time T that ends at a jump of a Poisson clock (a time in a uniformised Markov chain).

    :math:`P(T>t)=\sum_n e^{-qt}\frac{(qt)^n}{n!}a_n`, where :math:`a_n` is the probability to be alive after
    n jumps. Beyond the last :math:`a_n` given, each is ``decay`` times the one before [1]_.

    Parameters
    ----------
    clock_per_s : float
        Rate q of the clock, > 0.
    alive : array
        :math:`a_0, a_1, \dots`, non-increasing, :math:`a_0=P(T>0)`.
    decay : float
        In [0, 1).

    References
    ----------
    .. [1] Jensen (1953), "Markoff chains as an aid in the study of Markoff processes", Skand. Akt. 36, 87-91.

    Examples
    --------
    >>> law = ClockedLaw(clock_per_s=4.0, alive=np.array([1.0]), decay=0.5)  # exponential of rate 2
    >>> round(law.mean_s, 9), round(law.var_s2, 9), float(law.ppf(0.5).round(6))
    (0.5, 0.25, 0.346574)
    """

    clock_per_s: float
    alive: Floats
    decay: float

    @property
    def mean_s(self) -> float:
        """Mean, seconds."""
        return float(self.alive.sum() + self._rest) / self.clock_per_s

    @property
    def _rest(self) -> float:
        return float(self.alive[-1]) * self.decay / (1.0 - self.decay)

    @property
    def second_moment_s2(self) -> float:
        """E[T^2], seconds squared."""
        n = len(self.alive)
        rest = self._rest * (n + 1 + self.decay / (1.0 - self.decay))
        return float(2.0 * (np.arange(1, n + 1) @ self.alive + rest)) / self.clock_per_s**2

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return self.second_moment_s2 - self.mean_s**2

    def sf(self, t: ArrayLike) -> Floats:
        """P(T > t), broadcasting over t in seconds."""
        times = np.asarray(t, dtype=float)
        found = [1.0 if x < 0 else self._tail(self.clock_per_s * x) for x in times.ravel()]
        return np.array(found, dtype=float).reshape(times.shape)

    def _tail(self, mean: float) -> float:
        """Sum over the jumps that a clock with this mean can have made."""
        n = len(self.alive)
        spread = 9.0 * math.sqrt(mean) + 40.0
        low, high = max(0, int(mean - spread)), min(n, int(mean + spread) + 1)
        if low < high:
            body = float(self.alive[low:high] @ poisson_pmf(np.arange(low, high), mean))
        else:
            body = 0.0
        if self.decay <= 0 or mean + spread < n:
            return body
        log_scale = -(1.0 - self.decay) * mean - (n - 1) * math.log(self.decay)
        beyond = float(gammainc(float(n), self.decay * mean))
        tail = math.exp(log_scale + math.log(beyond)) if beyond > 0 else 0.0
        return body + float(self.alive[-1]) * tail

    def ppf(self, q: ArrayLike) -> Floats:
        """Smallest t >= 0 with P(T <= t) >= q, broadcasting over q in (0, 1)."""
        if self.alive[0] <= 0:
            return np.zeros(np.shape(q))
        return quantile(self.sf, q, scale=self.mean_s / float(self.alive[0]))


def exponential_after(*, prob_wait: float, wait_rate: float, service_rate: float) -> TailLaw:
    r"""Law of an exponential time after a wait that is exponential with ``prob_wait`` and zero otherwise.

    :math:`P(T>t)=e^{-\mu t}+p\left(e^{-at}-e^{-\mu t}\right)\mu/(\mu-a)`, in a form that has no pole at
    :math:`a=\mu`.

    Parameters
    ----------
    prob_wait : float
        p, in [0, 1].
    wait_rate, service_rate : float
        a and :math:`\mu`, per second, > 0.

    Examples
    --------
    >>> law = exponential_after(prob_wait=0.5, wait_rate=1.0, service_rate=1.0)
    >>> law.mean_s, float(law.sf(1.0).round(6))  # exp(-1) (1 + 1/2)
    (1.5, 0.551819)
    """

    def tail(t: Floats) -> Floats:
        slow, gap = min(wait_rate, service_rate), abs(service_rate - wait_rate)
        with np.errstate(under="ignore"):
            return np.exp(-service_rate * t) + prob_wait * service_rate * t * np.exp(-slow * t) * exprel(
                -gap * t
            )

    return TailLaw(
        tail=tail,
        mean_s=prob_wait / wait_rate + 1.0 / service_rate,
        variance_s2=prob_wait * (2.0 - prob_wait) / wait_rate**2 + 1.0 / service_rate**2,
        scale_s=1.0 / min(wait_rate, service_rate),
    )


def count_alive(
    state: Floats,
    advance: Callable[[Floats], Floats],
    alive: Callable[[Floats], float],
    *,
    clock_per_s: float,
    decay: float | None = None,
    max_jumps: int = 200_000,
) -> ClockedLaw:
    """Follow a non-negative state from jump to jump until what is alive falls in a constant ratio.

    Parameters
    ----------
    state : array
        The state before the first jump.
    advance : callable (array) -> array
        The state one jump later.
    alive : callable (array) -> float
        The probability that a state holds, > 0 at the start.
    clock_per_s : float
        Rate of the clock, > 0.
    decay : float or None
        Ratio in the limit, in [0, 1), where it is known; else it is found.
    max_jumps : int
        Jumps at most.

    Raises
    ------
    ConvergenceError
        If the ratio has not settled after ``max_jumps``.

    Examples
    --------
    >>> law = count_alive(np.array([1.0]), lambda x: 0.5 * x, lambda x: float(x[0]), clock_per_s=2.0)
    >>> round(law.mean_s, 9)
    1.0
    """
    found = [alive(state)]
    if found[0] <= 0:
        return ClockedLaw(clock_per_s=clock_per_s, alive=np.zeros(1), decay=0.0)
    while len(found) <= max_jumps:
        state = advance(state)
        found.append(alive(state))
        if found[-1] <= _GONE * found[0]:
            break
        if len(found) % 32 == 0:
            settled = _settled(np.array(found[-96:]), decay)
            if settled is not None:
                return ClockedLaw(clock_per_s=clock_per_s, alive=np.array(found), decay=settled)
    else:
        raise ConvergenceError(f"the tail has not settled after {max_jumps} jumps; raise max_jumps")
    last = found[-1] / found[-2] if decay is None else decay
    return ClockedLaw(clock_per_s=clock_per_s, alive=np.array(found), decay=min(last, 1.0 - 1e-12))


def then_phase_type(first: ClockedLaw, start: Floats, q: Floats) -> ClockedLaw:
    """Law of a time ``first`` and, after it, an independent time until a chain with sub-generator ``q`` ends.

    Parameters
    ----------
    first : ClockedLaw
        Law of the first time; its clock must not be slower than any phase of ``q``.
    start : array (m,)
        Law of the phase in which the second time begins.
    q : array (m, m)
        Sub-generator, per second.

    Raises
    ------
    ConfigError
        If a phase of ``q`` is faster than the clock.

    Examples
    --------
    >>> wait = ClockedLaw(clock_per_s=2.0, alive=np.array([0.5]), decay=0.5)
    >>> law = then_phase_type(wait, np.ones(1), np.array([[-1.0]]))
    >>> round(law.mean_s, 9), float(law.sf(1.0).round(6))
    (1.5, 0.551819)
    """
    clock = first.clock_per_s
    if float(np.max(-np.diag(q))) > clock * (1.0 + 1e-12):
        raise ConfigError(f"clock_per_s: {clock:g} must be at least {np.max(-np.diag(q)):g}")
    stay = np.eye(len(q)) + q / clock
    n_known = len(first.alive)

    def waiting(n: int) -> float:
        if n < n_known:
            return float(first.alive[n])
        return float(first.alive[-1]) * first.decay ** (n - n_known + 1)

    jumps = 0

    def advance(state: Floats) -> Floats:
        nonlocal jumps
        jumps += 1
        now = waiting(jumps)
        return np.append(state[:-1] @ stay + max(float(state[-1]) - now, 0.0) * start, now)

    begun = np.append((1.0 - float(first.alive[0])) * start, first.alive[0])
    slowest = 1.0 + float(np.max(np.linalg.eigvals(q).real)) / clock
    decay = max(slowest, first.decay) if abs(slowest - first.decay) > 1e-3 else None
    return count_alive(begun, advance, lambda x: float(x.sum()), clock_per_s=clock, decay=decay)


def _settled(recent: Floats, decay: float | None) -> float | None:
    """The limiting ratio, if what is left to come of its drift is below 1e-12; else None."""
    if len(recent) < 96:
        return None
    ratio = recent[1:] / recent[:-1]
    early, middle, late = ratio[30], ratio[62], ratio[94]
    if decay is not None:
        off, before = abs(late - decay), abs(middle - decay)
        shrinks = off < 0.9 * before and 32 * off * before < 1e-12 * (before - off)
        return decay if off < 5e-15 or shrinks else None
    first, second = abs(middle - early), abs(late - middle)
    if second > 2e-16 * 8:
        shrink = second / first if first > 0 else 1.0
        if shrink > 0.7 or 32 * second / (1 - shrink) ** 2 > 1e-12:
            return None
    return float(late) if late < 1 else None


NO_TIME = ClockedLaw(clock_per_s=1.0, alive=np.zeros(1), decay=0.0)
"""The time that is always zero."""
