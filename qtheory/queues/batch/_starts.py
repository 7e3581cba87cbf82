"""What follows from the number present when a batch server starts a service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.laws import Law

from ._launch import Launch

__all__ = ["LIGHT", "ServiceStarts", "assembled", "check_flow", "disagreement", "summed"]

Floats = NDArray[np.float64]

_CHECK = 1e-9  # how far two formulas for the mean number left behind may differ, relative
LIGHT = 1e-3


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


def assembled(
    laws: Sequence[Law], launch: Launch, moments: Floats, present: tuple[Floats, float, float], at_end: Floats
) -> ServiceStarts:
    """All the rest, from P(present at a start) as (pmf, lump, ratio) and P(y present at an end), y < a."""
    pmf, lump, ratio = present
    b = len(laws)
    every = np.append(pmf, lump)
    batch = np.append(every[: b - 1], every[b - 1 :].sum())
    left = _left_behind(batch, moments, at_end, launch)
    if left[0] < LIGHT * (batch @ np.arange(1.0, b + 1)):  # the formula cancels there, the sum does not
        left = summed(every, b, ratio)
    return ServiceStarts(
        rate_rps=launch.rate_rps,
        laws=laws,
        pmf=pmf,
        lump=lump,
        ratio=ratio,
        ended=at_end,
        batch=batch,
        mean_left=left[0],
        square_left=left[1],
        mean_service_s=float(batch @ moments[:, 0]) / launch.rate_rps,
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


def summed(pi: Floats, b: int, ratio: float) -> tuple[float, float]:
    """E[L] and E[L^2] summed over the states."""
    left = np.arange(1.0, len(pi) - b + 1)
    beyond = ratio / (1.0 - ratio)
    tops = left[-1] + beyond, left[-1] ** 2 + 2.0 * left[-1] * beyond + beyond + 2.0 * beyond**2
    body = pi[b:-1]
    return (
        float(left[:-1] @ body + pi[-1] * tops[0]),
        float(left[:-1] ** 2 @ body + pi[-1] * tops[1]),
    )


def disagreement(found: ServiceStarts) -> float:
    """Distance of E[L] summed over the states from the formula, and of the flow in from the flow out."""
    pi = np.append(found.pmf, found.lump)
    left = summed(pi, found.max_batch, found.ratio)[0]
    off = abs(left - found.mean_left) / max(left, LIGHT * found.mean_batch)
    flow = found.rate_rps * found.mean_cycle_s
    return max(off, abs(flow / found.mean_batch - 1.0))
