"""The number under a limit on the work: those accepted behind a customer while he is there, on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError
from qtheory.laws.law import Law

from ._impatience import UnlimitedWork
from ._volterra import antiderivatives, solve_response_limit, solve_wait_limit

__all__ = ["BoundedNumber", "CountedWork", "WholeServices", "response_limited", "wait_limited"]

Floats = NDArray[np.float64]

_END = 1e-13  # tails below are nothing
_MOST = 4096
_BLOCK = 256
_ROUNDING = 1e-12
_APART = 1e-4  # of the tails from two pairs of grids; the finer pair is far closer


@dataclass(frozen=True, kw_only=True)
class BoundedNumber:
    r"""P(N = n) from tails on grids, second order taken out.

    Of the customers present at some time, exactly one has n others behind him if there are more than n. So
    :math:`P(N>n)` is the rate of acceptances times the mean time that one spends with n behind him. In that
    time the work behind him is a jump process whose rates depend on the time that he has left.

    ``tails`` gives P(N > 0), P(N > 1), ... on a grid of so many cells. The finest grid has a quarter of
    ``n_points`` cells, or half of them, until the tails from two pairs of grids agree.
    """

    tails: Callable[[int], Floats]
    n_points: int
    empty: float

    def __call__(self, n: int) -> float:
        """P(N = n)."""
        return float(self._probs[n]) if n < self._probs.size else 0.0

    @cached_property
    def _probs(self) -> Floats:
        m = self.n_points // 8
        before = _second_order_out(self.tails(m // 2), coarse := self.tails(m))
        while True:
            m *= 2
            more = _second_order_out(coarse, fine := self.tails(m))
            apart = float(np.max(np.abs(_longer(before, more.size) - more)))
            if apart <= _APART:
                break
            if 4 * m > self.n_points:
                raise ConvergenceError(
                    f"number: its tails from {m // 2} and {m} cells are {apart:.2g} apart; raise n_points"
                )
            before, coarse = more, fine
        more[0] = 1 - self.empty  # known better
        return -np.diff(np.minimum.accumulate(np.concatenate([[1.0], more, [0.0]])))


@dataclass(frozen=True, kw_only=True)
class WholeServices:
    """P(N = n) for constant services and a limited wait: the work in services, rounded up.

    That is at most the limit and one more. What lies beyond the limit, in one or two numbers, is told from
    the mean number.
    """

    work: UnlimitedWork
    empty: float
    mean: float
    _blocks: dict[int, Floats] = field(default_factory=dict)

    def __call__(self, n: int) -> float:
        """P(N = n)."""
        most = self._most
        if n <= most:
            return max(self._up_to(n) - self._up_to(n - 1), 0.0) if n else self.empty
        if n > most + 2:
            return 0.0
        rest = max(1 - self._up_to(most), 0.0)
        within = most * self._up_to(most) - sum(self._up_to(k) for k in range(most))  # sum of n P(N = n)
        last = min(max(self.mean - within - (most + 1) * rest, 0.0), rest)
        return last if n == most + 2 else rest - last

    @property
    def _most(self) -> int:
        return math.floor(self.work.limit_s / self.work.service.mean * (1 + _ROUNDING))

    def _up_to(self, n: int) -> float:
        """P(N <= n), n services being within the limit."""
        number, place = divmod(n, _BLOCK)
        if number not in self._blocks:
            n_there = np.arange(number * _BLOCK, min((number + 1) * _BLOCK, self._most + 1))
            held = self.work.h(np.minimum(self.work.service.mean * n_there, self.work.limit_s))
            self._blocks[number] = self.empty * held
        return float(self._blocks[number][place])


def _longer(tails: Floats, n: int) -> Floats:
    return np.pad(tails, (0, max(n - tails.size, 0)))[:n]


def _second_order_out(coarse: Floats, fine: Floats) -> Floats:
    return np.maximum((4 * fine - _longer(coarse, fine.size)) / 3, 0.0)


@dataclass(frozen=True, kw_only=True)
class CountedWork:
    """Time left and work behind, of one customer, in cells: both up to the limit.

    In cell j the time left goes from (j + 1) h down to j h. Of the customers ``entry[j]`` come with (j + 1) h
    left, and all spend ``late_s`` on the average with more left than the limit. With work k h behind him in
    cell j one sees arrivals accepted at the rate ``rate_rps * accepted[j, k]``; `spread` moves the time spent
    in cells to where an acceptance leads.
    """

    rate_rps: float
    cell_s: float
    entry: Floats  # (m,)
    late_s: float
    accepted: Floats  # (m, k)
    spread: Callable[[Floats], Floats]

    def tails(self) -> Floats:
        """P(N > n) for n = 0, 1, ... until it is nothing."""
        kept, held, lost = _in_a_cell(self.rate_rps * self.cell_s * self.accepted)
        come: Floats | None = None
        found: list[float] = []
        while not found or found[-1] > _END:
            if len(found) > _MOST:
                raise ConvergenceError(f"number: its law is not known after {_MOST:,} probabilities")
            spent = np.empty_like(self.accepted)  # cells
            there = np.zeros(self.accepted.shape[1])
            for j in range(self.entry.size - 1, -1, -1):
                if come is None:
                    there[0] += self.entry[j]
                    spent[j] = there * held[j]
                    there *= kept[j]
                else:
                    spent[j] = there * held[j] + come[j] * lost[j]
                    there = there * kept[j] + come[j] * held[j]
            total = spent.sum() * self.cell_s + (self.late_s if come is None else 0.0)
            found.append(float(self.rate_rps * total))
            come = self.rate_rps * self.cell_s * self.spread(spent)
        return np.array(found)


def _in_a_cell(rate: Floats) -> tuple[Floats, Floats, Floats]:
    """Left after a cell, mean time in it from its beginning, and from a uniform time in it; cells."""
    with np.errstate(invalid="ignore", divide="ignore"):
        held = np.where(rate > 1e-3, -np.expm1(-rate) / rate, 1 - rate / 2 * (1 - rate / 3 * (1 - rate / 4)))
        series = 0.5 - rate / 6 * (1 - rate / 4 * (1 - rate / 5 * (1 - rate / 6)))
        return np.exp(-rate), held, np.where(rate > 1e-2, (1 - held) / rate, series)


def _hats(once: Floats, h: float) -> Floats:
    """Masses at 0, h, ... with the mean of the law between them, from the antiderivative of its cdf."""
    slope = np.diff(once) / h
    return np.maximum(np.diff(slope, prepend=0.0), 0.0)


def _folded(masses: Floats, n: int) -> Callable[[Floats], Floats]:
    """Convolution of rows with masses, cut off after n."""
    size = 1 << (2 * n - 1).bit_length()
    factor = np.fft.rfft(masses, size)
    return lambda rows: np.maximum(np.fft.irfft(np.fft.rfft(rows, size) * factor, size)[:, :n], 0.0)


def wait_limited(rate_rps: float, service: Law, limit_s: float, m: int) -> Floats:
    """Tails where only a wait above the limit is turned away, divided by the accepted share."""
    h = limit_s / m
    idle, point, mass = solve_wait_limit(rate_rps, service, limit_s, m)
    once, twice = antiderivatives(service, h * np.arange(m + 1.0))
    inside = idle * once
    inside[1:] += np.convolve(mass, np.diff(twice) / h)[:m]
    entry = _hats(inside, h)
    entry = np.append(entry, max(1 - entry.sum(), 0.0))[1:]
    late_s = max(float(mass @ point) + service.mean - (limit_s - inside[-1]), 0.0)
    sizes = _hats(once, h)
    fold, beyond = _folded(sizes, m), 1 - np.cumsum(sizes)  # (m,) P(size beyond k h)
    work, left = np.arange(m + 1), np.arange(m)[:, None]
    accepted = (work + left < m).astype(float)  # (m, m+1) the last for all work that is too much

    def spread(spent: Floats) -> Floats:
        joined = (spent * accepted)[:, :m]
        return np.column_stack([fold(joined), joined @ np.maximum(beyond[::-1], 0.0)])

    found = CountedWork(
        rate_rps=rate_rps, cell_s=h, entry=entry, late_s=late_s, accepted=accepted, spread=spread
    )
    return found.tails()


def response_limited(rate_rps: float, service: Law, limit_s: float, m: int) -> Floats:
    """Tails where a response above the limit is turned away.

    In a cell of the time left the limit on a size moves by a cell: over it a size x, u into a cell, is
    accepted for a share 1 - u of the time. Such sizes are shared between the two ends of their cell.
    """
    h = limit_s / m
    grid = solve_response_limit(rate_rps, service, limit_s, m)
    once, twice = antiderivatives(service, grid.x)
    inside = grid.empty * once
    inside[1:] += np.convolve(grid.mass, np.diff(twice) / h)[:m]
    last = max(float(grid.response_cdf[-1]) - float(inside[-1] - inside[-2]) / h, 0.0)
    whole = np.diff(once) / h  # (m,) share accepted of all sizes
    early = (np.diff(twice) / h - once[:-1]) / h  # (m,) integral of (1 - u) F
    cdf = np.asarray(service.cdf(grid.x), dtype=float)
    below = np.append(cdf[0], np.maximum(cdf[1:-1] - whole[:-1], 0.0))  # up to a cell's beginning, at its end
    at_start = below + np.maximum(2 * early - cdf[:-1], 0.0)  # (m,)
    at_end = np.maximum(whole - 2 * early, 0.0)
    fold, n = _folded(np.append(_hats(once, h), np.zeros(2)), m + 2), np.arange(m)
    room = m - 1 - n[:, None] - np.arange(m + 2)  # (m, m+2) cells between the work behind and the limit
    parts = (at_start, at_end, whole)
    at_start, at_end, whole = (np.where(room >= 0, part[np.maximum(room, 0)], 0.0) for part in parts)

    def spread(spent: Floats) -> Floats:
        led = np.where(room > 0, fold(spent), 0.0)
        led[n, m - 1 - n] = np.sum(spent * at_start, axis=1)
        led[n, m - n] = np.sum(spent * at_end, axis=1)
        return led

    found = CountedWork(
        rate_rps=rate_rps,
        cell_s=h,
        entry=np.append(_hats(inside, h)[1:], last),
        late_s=0.0,
        accepted=whole,
        spread=spread,
    )
    return found.tails()
