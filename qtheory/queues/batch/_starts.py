"""The Markov chain of a batch server, seen at the moments at which a service starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Law
from qtheory.numerics.markov import stationary

from ._counts import arrival_moments, count_reach, count_rows, reach_each, tail_ratio
from ._launch import Launch

__all__ = ["ServiceStarts", "check_flow", "solve_starts"]

Floats = NDArray[np.float64]

_CHECK = 1e-9  # how far two formulas for the mean number left behind may differ, relative
_DIGITS = 30.0  # -ln of what the second root of the tail may still weigh
_LIGHT = 1e-3
_FIRST_STATES = 1500.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceStarts:
    """Stationary law of the number present when a service starts, and of all that follows from it.

    ``pmf[i]`` is P(i + 1 present); from ``first_lumped`` customers on, the numbers are geometric with
    ``ratio`` and together have the probability ``lump``.
    """

    rate_rps: float
    laws: Sequence[Law]  # service by batch size 1..b
    pmf: Floats  # (n - 1,)
    lump: float
    ratio: float
    ended: Floats  # (a,) P(y present at the end of a service), y < a
    batch: Floats  # (b,) P(batch of k + 1)
    mean_left: float  # E[L], number not taken along
    square_left: float  # E[L^2]
    mean_service_s: float
    mean_idle_s: float

    @property
    def max_batch(self) -> int:
        """Largest batch."""
        return len(self.laws)

    @property
    def first_lumped(self) -> int:
        """Smallest number present that belongs to the geometric tail."""
        return len(self.pmf) + 1

    @property
    def mean_batch(self) -> float:
        """E[B] over services; customers of a cycle."""
        return float(self.batch @ np.arange(1, self.max_batch + 1))

    @property
    def mean_cycle_s(self) -> float:
        """Mean time from one start to the next."""
        return self.mean_service_s + self.mean_idle_s

    def present(self, n: int) -> Floats:
        """P(i + 1 present at a start), i = 0..n-1, the geometric tail written out."""
        if n <= len(self.pmf):
            return self.pmf[:n]
        with np.errstate(under="ignore"):
            tail = self.lump * (1.0 - self.ratio) * self.ratio ** np.arange(n - len(self.pmf))
        return np.concatenate([self.pmf, tail])


def check_flow(rate_in: float, rate_out: float) -> None:
    """Raise `ConvergenceError` unless as many leave as come."""
    if abs(rate_out - rate_in) > _CHECK * rate_in:
        raise ConvergenceError(
            f"{rate_in:.12g} requests/s come and {rate_out:.12g} leave; the solution is off"
        )


def solve_starts(rate: float, laws: Sequence[Law], launch: Launch, *, max_states: int) -> ServiceStarts:
    """Solve on ever more states until the tail meets an independent formula for what is left behind."""
    max_batch, full = len(laws), laws[-1]
    slack = max_batch - rate * full.mean
    moments = [arrival_moments(law, rate) for law in laws]
    ratio = tail_ratio(full, rate, max_batch)
    spread = moments[-1][1] - moments[-1][0] ** 2
    size = np.hypot(slack * slack, 4.0 * np.pi * spread)  # of slack^2 - 4 pi i spread
    gap = 16.0 * np.pi**2 * spread / ((size + slack**2) * (np.sqrt(2.0 * (size + slack**2)) + 2.0 * slack))
    fall = _DIGITS / max(gap, _DIGITS / _FIRST_STATES)
    if 0 < ratio < 1:
        fall = min(fall, _DIGITS / -np.log(ratio))
    n = max_batch + int(fall) + 24
    off = np.inf
    while n <= max_states + max_batch:
        found = _solve(rate, laws, np.array(moments), launch, ratio, n)
        off = _disagreement(found)
        if off < _CHECK:
            return found
        n = max_batch + 2 * (n - max_batch)
    raise ConvergenceError(
        f"the number left behind is off by {off:.1g} with {max_states} states; raise max_states "
        f"(load {rate * full.mean / max_batch:.6g}, a service of variable length)"
    )


def _solve(
    rate: float, laws: Sequence[Law], moments: Floats, launch: Launch, ratio: float, n: int
) -> ServiceStarts:
    b, a = len(laws), len(launch.law)
    ended = np.zeros((n, n))  # row: present at a start 1..n; column: present at the end 0..n-1
    rows = count_rows(laws, rate, n - 1)  # (b, n)
    ended[:b] = rows
    for x in range(b + 1, n + 1):
        ended[x - 1, x - b :] = rows[-1, : n - x + b]
    if ratio > 0:  # the last row stands for n and all above
        weight = (1.0 - ratio) * ratio ** np.arange(b)
        ended[-1, n - b :] = np.convolve(rows[-1, :b], weight)[:b]
    p = np.zeros((n, n))
    p[:, a - 1 : n - 1] = ended[:, a:]  # at least a present: on with it
    p[:, :a] += ended[:, :a] @ launch.law
    least = np.full(b, float(n))
    p[:b, -1] = reach_each(laws, rate, least)
    p[b:-1, -1] = count_reach(laws[-1], rate, n - np.arange(1.0, n - b))
    p[-1, -1] = 1.0
    pi = stationary(p, typical=_typical(moments[:, 0]))
    batch = np.append(pi[: b - 1], pi[b - 1 :].sum())
    at_end = (pi @ ended)[:a]
    left = _left_behind(batch, moments, at_end, launch)
    if left[0] < _LIGHT * (batch @ np.arange(1.0, b + 1)):  # the formula cancels there, the sum does not
        left = _summed(pi, b, ratio)
    return ServiceStarts(
        rate_rps=rate,
        laws=laws,
        pmf=pi[:-1],
        lump=float(pi[-1]),
        ratio=ratio,
        ended=at_end,
        batch=batch,
        mean_left=left[0],
        square_left=left[1],
        mean_service_s=float(batch @ moments[:, 0]) / rate,
        mean_idle_s=float(at_end @ launch.idle_s),
    )


def _left_behind(batch: Floats, moments: Floats, at_end: Floats, launch: Launch) -> tuple[float, float]:
    r"""E[L] and E[L^2] of the number not taken along, from the law of the batch alone.

    With X = B + L present at a start and Y = L + A at the end, X and max(Y, ...) have one law; equal second
    and third moments give :math:`2E[L](b-a_1)` and :math:`3E[L^2](b-a_1)`.
    """
    b, a = len(batch), len(at_end)
    size = np.arange(1.0, b + 1)
    y, x = np.arange(float(a)), np.arange(1.0, a + 1)
    a1, a2, _ = moments[-1]
    gain2 = at_end @ (launch.law @ x**2 - y**2)
    gain3 = at_end @ (launch.law @ x**3 - y**3)
    first = (batch @ (moments[:, 1] - size**2) + gain2) / (2.0 * (b - a1))
    second = (batch @ (moments[:, 2] - size**3) + gain3 - 3.0 * first * (b * b - a2)) / (3.0 * (b - a1))
    return float(first), float(second)


def _typical(arrivals: Floats) -> int:
    """Index of a batch size that is about as large as the arrivals during its service."""
    behind = np.flatnonzero(arrivals <= np.arange(1.0, len(arrivals) + 1))
    return int(behind[0]) if behind.size else len(arrivals) - 1


def _summed(pi: Floats, b: int, ratio: float) -> tuple[float, float]:
    """E[L] and E[L^2] summed over the states."""
    left = np.arange(1.0, len(pi) - b + 1)
    beyond = ratio / (1.0 - ratio)
    tops = left[-1] + beyond, left[-1] ** 2 + 2.0 * left[-1] * beyond + beyond + 2.0 * beyond**2
    body = pi[b:-1]
    return (
        float(left[:-1] @ body + pi[-1] * tops[0]),
        float(left[:-1] ** 2 @ body + pi[-1] * tops[1]),
    )


def _disagreement(found: ServiceStarts) -> float:
    """Distance of E[L] summed over the states from the formula, and of the flow in from the flow out."""
    pi = np.append(found.pmf, found.lump)
    summed = _summed(pi, found.max_batch, found.ratio)[0]
    off = abs(summed - found.mean_left) / max(summed, _LIGHT * found.mean_batch)
    flow = found.rate_rps * found.mean_cycle_s
    return max(off, abs(flow / found.mean_batch - 1.0))
