"""Laws of wait and response of a batch server by their transforms, for service times of any law."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.queues.single.excess import Excess

from ._counts import count_reach, count_rows
from ._launch import Launch
from ._starts import ServiceStarts

__all__ = ["TransformBatchLaws"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_NOTHING = 1e-17
_ALIAS = 1e-14
_MOST_ENTRIES = 60_000
_AT_ONCE, _ROWS = 2048, 32  # points and places treated together, so that they stay in the cache


class TransformBatchLaws:
    r"""E[exp(-sW)] and E[exp(-sT)], given the law of the number present at a service start.

    For arrivals during a service let :math:`G_p(s)` be the transform of what is left of it, on the event that
    p others are ahead. With :math:`a_p(s)` the transform of services that leave p behind and :math:`y_p` the
    law of the number present at the end, :math:`(\lambda-s)G_p=\lambda G_{p-1}+a_p(s)-y_p`; solved upwards
    where :math:`|\lambda-s|>\lambda`, else downwards, so that errors shrink. Place p means
    :math:`\lfloor p/b\rfloor` full services more. Those who come behind are Poisson during the wait: with
    :math:`s+\lambda(1-z)` for s the same sum is a generating function of the batch size, read off a circle.
    """

    def __init__(self, starts: ServiceStarts, launch: Launch) -> None:
        self.starts, self.launch = starts, launch
        full, rate = starts.laws[-1], starts.rate_rps
        top = np.arange(starts.max_batch, 64 * starts.max_batch + 4096)
        rare = count_reach(full, rate, top.astype(float)) < _NOTHING
        self._rows = count_rows(starts.laws, rate, int(top[np.argmax(rare)]) if rare.any() else int(top[-1]))

    @property
    def entries(self) -> int:
        """Points on the circle times places in the queue: what one value of the response transform takes."""
        return 4 * self.starts.max_batch * len(self._ended[0])

    def _services(self, s: Complexes) -> Complexes:
        """Transforms of the service times, shape (b, *s)."""
        return np.array([law.lst(s) for law in self.starts.laws], dtype=np.complex128)

    @cached_property
    def _lump(self) -> Floats:
        """The first b states of the geometric tail; the next b are ratio^b times these."""
        starts = self.starts
        with np.errstate(under="ignore"):
            geometric = starts.ratio ** np.arange(starts.max_batch)
            return np.asarray(starts.lump * (1.0 - starts.ratio) * geometric, dtype=float)

    @cached_property
    def _ended(self) -> tuple[Floats, Floats]:
        """P(p present at the end of a service): from the listed states, and from the first of the lump."""
        starts, b = self.starts, self.starts.max_batch
        low = min(b, len(starts.pmf))
        listed = starts.pmf[:low] @ self._rows[:low]
        spread = np.convolve(starts.pmf[b:], self._rows[-1]) if len(starts.pmf) > b else np.zeros(1)
        lumped = np.convolve(self._lump, self._rows[-1])
        shift = starts.first_lumped - b
        size = max(len(spread) + 1, len(listed), shift + len(lumped))
        y, z = np.zeros(size), np.zeros(size)
        y[: len(listed)] += listed
        y[1 : len(spread) + 1] += spread
        z[shift : shift + len(lumped)] = lumped
        return y, z

    def _swept(self, s: Complexes, mark: Complexes, services: Complexes) -> Complexes:
        """Sum over p of mark^(p mod b + 1) full(s)^floor(p/b) G_p(s), for flat arrays."""
        found = np.empty(s.shape, dtype=np.complex128)
        rate = self.starts.rate_rps
        down = np.abs(rate - s) <= rate
        for which, sweep in ((down, self._downwards), (~down, self._upwards)):
            some = np.flatnonzero(which)
            for part in np.array_split(some, 1 + len(some) // _AT_ONCE):
                if len(part):
                    found[part] = sweep(s[part], mark[part], services[:, part])
        return found

    def _source(self, s: Complexes, services: Complexes) -> tuple[Complexes, Complexes]:
        """a_0(s), and by how much the listed lump states count for the whole geometric tail."""
        starts = self.starts
        b = starts.max_batch
        low = min(b, len(starts.pmf))
        first = starts.pmf[:low] @ services[:low]
        if starts.ratio <= 0:
            return first, np.ones_like(s)
        full = starts.laws[-1]
        gone = -math.expm1(b * math.log(starts.ratio))
        return first, 1.0 / (gone + (1.0 - gone) * s * full.mean * Excess(law=full).lst(s))

    @cached_property
    def _excess(self) -> tuple[Floats, Floats]:
        """a_p(s) - y_p as factors of 1 and of the full service, and of both for the tail: two (2, p)."""
        starts, b = self.starts, self.starts.max_batch
        ended, lumped = self._ended
        listed, beyond = np.zeros((2, len(ended))), np.zeros((2, len(ended)))
        listed[0], beyond[0] = -ended, -lumped
        beyond[0, 0] = 0.0
        listed[1, 1 : len(starts.pmf) - b + 1] = starts.pmf[b:]
        shift = starts.first_lumped - b
        beyond[1, max(shift, 0) : shift + b] = self._lump[max(-shift, 0) :]
        return listed, beyond

    def _excesses(self, s: Complexes, services: Complexes) -> Callable[[int], Complexes]:
        """a_p(s) - y_p for each p."""
        first, tail = self._source(s, services)
        full, (listed, beyond) = services[-1], self._excess
        bases = np.array([np.ones_like(s), full, tail, full * tail])
        shares = np.vstack([listed, beyond])
        blocks: dict[int, Complexes] = {}

        def excess(p: int) -> Complexes:
            k = p // _ROWS
            if k not in blocks:
                blocks.clear()
                part = shares[:, k * _ROWS : (k + 1) * _ROWS]
                blocks[k] = np.asarray(part.T.astype(np.complex128) @ bases)
            value: Complexes = blocks[k][p % _ROWS]
            return np.asarray(value + first) if p == 0 else value

        return excess

    def _upwards(self, s: Complexes, mark: Complexes, services: Complexes) -> Complexes:
        rate, b, full = self.starts.rate_rps, self.starts.max_batch, services[-1]
        excess = self._excesses(s, services)
        scale = 1.0 / (rate - s)
        g, total = np.zeros_like(s), np.zeros_like(s)
        weight, block = mark.copy(), np.ones_like(s)
        for p in range(len(self._ended[0])):
            g *= rate
            g += excess(p)
            g *= scale
            total += weight * g
            if (p + 1) % b:
                weight *= mark
            else:
                block *= full
                weight = block * mark
        return total

    def _downwards(self, s: Complexes, mark: Complexes, services: Complexes) -> Complexes:
        rate, b, full = self.starts.rate_rps, self.starts.max_batch, services[-1]
        excess = self._excesses(s, services)
        scale = (rate - s) / rate
        g, total, inner = np.zeros_like(s), np.zeros_like(s), np.zeros_like(s)
        for p in range(len(self._ended[0]) - 1, -1, -1):  # g is rate G_p; Horner in mark, then in full
            inner += g
            inner *= mark
            if p % b == 0:
                total *= full
                total += inner
                inner[:] = 0.0
            g *= scale
            g -= excess(p)
        return total / rate

    def _next_sizes(self, s: Complexes, n: int) -> Complexes:
        """rate E[sum of exp(-sW) over arrivals in a service; k present at the end], k < n: shape (n, *s)."""
        rate = self.starts.rate_rps
        points = 1 << int(np.ceil(np.log2(4 * max(n, 2))))
        radius = _ALIAS ** (1.0 / points)
        z = radius * np.exp(2j * np.pi * np.arange(points) / points)
        moved = (s[:, None] + rate * (1.0 - z)).ravel()
        mark = np.broadcast_to(z, (len(s), points)).ravel()
        swept = self._swept(moved, mark, self._services(moved)).reshape(len(s), points)
        series = np.fft.fft(swept, axis=1)[:, :n] / points / radius ** np.arange(n)
        return np.asarray(rate * series.T, dtype=np.complex128)

    def _in_pieces(self, s: Complexes, response: bool) -> Complexes:
        flat = np.atleast_1d(s).ravel()
        pieces = max(1, len(flat) * 4 * self.starts.max_batch // _MOST_ENTRIES)
        parts = [self._transform(part, response) for part in np.array_split(flat, pieces) if len(part)]
        return np.concatenate(parts).reshape(np.shape(s))

    def wait_lst(self, s: Complexes) -> Complexes:
        """E[exp(-s W)]."""
        return self._in_pieces(s, response=False)

    def response_lst(self, s: Complexes) -> Complexes:
        """E[exp(-s T)]."""
        return self._in_pieces(s, response=True)

    def _transform(self, s: Complexes, response: bool) -> Complexes:
        starts, a = self.starts, self.launch.least
        services = self._services(s)
        start = services if response else np.ones_like(services)
        total = starts.rate_rps * self._swept(s, np.ones_like(s), services) * start[-1]
        total += np.tensordot(starts.ended, self.launch.joined(s, start[:a]), axes=1)
        known = starts.max_batch if response else a
        if known > 1:
            then = start[: known - 1].copy()  # k present at the end of a service, k = 1..known - 1
            then[: a - 1] = self.launch.held(s, start[:a])[1:]
            total += ((then - start[-1]) * self._next_sizes(s, known)[1:]).sum(axis=0)
        return np.asarray(total / starts.mean_batch, dtype=np.complex128)
