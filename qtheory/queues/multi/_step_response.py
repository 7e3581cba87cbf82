"""Law of the response of a server that works in steps on all its customers at once, by its transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from qtheory.numerics.timelaw import TransformLaw

__all__ = ["InvertedTail", "StepResponse", "second_moment"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_LEVELS = 5
_STEP = 0.05
_MOST_ENTRIES = 400_000
_NOTHING = 1e-19


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepResponse:
    r"""Tail transforms :math:`y(s)=(1-E[e^{-sT}])/s` of the time left, given the number present.

    With n present, R(n) of them running, a running customer leaves at rate :math:`\kappa_n`, one of the
    others at :math:`d_n=(R-1)\kappa_n`, and somebody comes at :math:`\lambda_n`; so
    :math:`(s+\lambda_n+d_n+\kappa_n)y_n=1+\lambda_ny_{n+1}+d_ny_{n-1}`. Above ``limit`` the rates are
    constant and :math:`y_{N+j}=\frac1{s+\kappa}+C\,r^j` with the root :math:`r` of :math:`\lambda
    r^2-(s+\lambda+d+\kappa)r+d=0` inside the unit circle. A wait is exponential and those who come during it
    are Poisson, which closes the infinite case without truncation.
    """

    rate_rps: float
    leave: Floats  # (N,) kappa_n, n = 1..N
    pmf: Floats  # (N,) P(n present at an arrival), n = 0..N-1
    prob_wait: float
    room: int | None  # places to wait in; None: any number
    queue: Floats  # (room,) P(an arrival takes place k of the queue), k = 1..room
    come: Floats | None = None  # (limit + room,) lambda_n, n = 1, 2, ..., where it is not the same for all n

    @property
    def limit(self) -> int:
        """Customers that can run at once."""
        return len(self.leave)

    def tail_lst(self, s: Complexes) -> Complexes:
        """Integral of exp(-s t) P(T > t) for Re s > -decay."""
        flat = np.atleast_1d(s).ravel()
        size = self.limit if self.room is None else 8 * (self.limit + self.room)
        parts = np.array_split(flat, 1 + len(flat) * size // _MOST_ENTRIES)
        pieces = [self._finite(part) if self.room is not None else self._infinite(part) for part in parts]
        return np.concatenate(pieces).reshape(np.shape(s))

    def _arrivals(self, n: int) -> Floats:
        """lambda_n, n = 1..n."""
        return np.full(n, self.rate_rps) if self.come is None else self.come[:n]

    def _solve(self, s: Complexes, leave: Floats, running: Floats, ratio: Complexes | None) -> Complexes:
        """y_n for n = 1..len(leave), shape (n, s): one banded system for all s."""
        n = len(leave)
        lam = self._arrivals(n)
        others = (running - 1.0) * leave
        main = s[:, None] + lam + others + leave  # (s, n)
        right = np.ones((len(s), n), dtype=np.complex128)
        if ratio is None:
            main[:, -1] -= lam[-1]  # full: nobody comes
        else:
            main[:, -1] -= lam[-1] * ratio
            right[:, -1] += lam[-1] * (1.0 - ratio) / (s + leave[-1])
        bands = np.zeros((3, len(s), n), dtype=np.complex128)
        bands[0, :, 1:] = -lam[:-1]
        bands[1] = main
        bands[2, :, :-1] = -others[1:]
        solved = solve_banded((1, 1), bands.reshape(3, -1), right.ravel(), check_finite=False)
        return np.asarray(solved.reshape(len(s), n).T, dtype=np.complex128)

    def _infinite(self, s: Complexes) -> Complexes:
        lam, own = self.rate_rps, float(self.leave[-1])
        others = (self.limit - 1) * own
        total = s + lam + others + own
        ratio = (
            2.0
            * others
            / (
                total
                + np.sqrt(total - 2.0 * np.sqrt(lam * others)) * np.sqrt(total + 2.0 * np.sqrt(lam * others))
            )
        )
        y = self._solve(s, self.leave, np.arange(1.0, self.limit + 1), ratio)
        found = self.pmf @ y
        spare = self.limit * own - lam  # rate at which a wait ends
        if self.prob_wait > 0 and spare > 0:
            alone = 1.0 / (s + own)
            apart = y[-1] - alone
            late = 1.0 / (s + spare) + spare * alone / (s + spare)
            found = found + self.prob_wait * (late + apart * spare / (s + spare + lam * (1.0 - ratio)))
        return np.asarray(found, dtype=np.complex128)

    def _finite(self, s: Complexes) -> Complexes:
        room, limit = len(self.queue), self.limit
        present = np.arange(1, limit + room + 1)
        running = np.minimum(present, limit)
        y = self._solve(s, self.leave[running - 1], running.astype(float), None)
        found = self.pmf @ y[:limit]
        if room:
            found = found + self._queued(s, y[limit - 1 :])
        return np.asarray(found, dtype=np.complex128)

    def _queued(self, s: Complexes, inside: Complexes) -> Complexes:
        """Sum over the places k of the queue; ``inside[m]``: just joined the batch with m behind.

        Y(k, m) for place k with m behind needs Y(k - 1, m) and Y(k, m + 1): both have m - k one higher, so
        all (k, m) with one m - k are computed together.
        """
        room, come = len(self.queue), self._arrivals(self.limit + len(self.queue))
        served = self.limit * float(self.leave[-1])
        taken = np.flatnonzero(self.queue > _NOTHING)
        last = int(taken[-1]) + 1 if taken.size else 0  # place from which on nobody waits
        table = np.zeros((last + 1, len(s)), dtype=np.complex128)  # by k, for the current m - k
        moved, total = np.empty_like(table), np.zeros(len(s), dtype=np.complex128)
        inverse = 1.0 / (s + served + self.rate_rps)
        steps, grows = served * inverse, self.rate_rps * inverse
        for lead in range(room, -last - 1, -1):
            low, high = max(1, -lead), min((room - lead) // 2, last)
            full = (1.0 + served * table[high - 1]) / (s + served) if high >= low else total
            here, ahead = table[low : high + 1], moved[: max(high - low + 1, 0)]
            if self.come is not None:
                lam = come[self.limit + 2 * np.arange(low, high + 1) + lead - 1, None]
                inverse = 1.0 / (s + served + lam)
                steps, grows = served * inverse, lam * inverse
            np.multiply(table[low - 1 : low - 1 + len(ahead)], steps, out=ahead)
            here *= grows
            here += ahead
            here += inverse
            if high >= low and 2 * high + lead == room:  # nobody comes
                table[high] = full
            if 0 <= lead <= room:
                table[0] = inside[lead]
            if -last <= lead <= -1:
                total += self.queue[-lead - 1] * table[-lead]
        return total


def second_moment(response: StepResponse, slowest: float) -> float:
    """E[T^2] = -2 y'(0), from differences along the imaginary axis that Richardson's rule extends to 0."""
    h = _STEP * slowest * 0.5 ** np.arange(_LEVELS)
    slope = -response.tail_lst(np.asarray(1j * h, dtype=np.complex128)).imag / h
    for level in range(1, _LEVELS):
        slope = (4.0**level * slope[1:] - slope[:-1]) / (4.0**level - 1.0)
    return float(2.0 * slope[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class InvertedTail(TransformLaw):
    """A response by inversion; its variance when asked for."""

    found: StepResponse
    slowest: float

    @property
    def var_s2(self) -> float:
        """Variance, seconds squared."""
        return second_moment(self.found, self.slowest) - self.mean_s**2
