"""Joint law of the wait and the size of a batch that is not full, for constant service times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import gammaln

from qtheory.numerics.markov import poisson_reach

from ._starts import ServiceStarts

__all__ = ["JointWindows", "Panel"]

Floats = NDArray[np.float64]

_NOTHING, _NONE = 1e-17, 1e-300
_FEW_KINKS = 6
_SMOOTH = 1e-11
_MOST_NODES = 1025
_MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Integral from ``low`` of the densities c_k, k = 1..b-1: Chebyshev series, zero at ``low``."""

    low: float
    high: float
    series: Floats  # (degree + 1, b - 1)

    def upto(self, x: Floats) -> Floats:
        """The integral up to x[k - 1], inside the panel at most."""
        inside = np.clip((2.0 * x - self.low - self.high) / (self.high - self.low), -1.0, 1.0)
        return np.asarray(chebyshev.chebval(inside, self.series, tensor=False), dtype=float)

    def density(self, x: Floats) -> Floats:
        """c_k at each x inside the panel, shape (len(x), b - 1)."""
        inside = (2.0 * x - self.low - self.high) / (self.high - self.low)
        slope = chebyshev.chebder(self.series) * (2.0 / (self.high - self.low))
        return np.asarray(chebyshev.chebval(inside, slope).T, dtype=float)

    @property
    def mass(self) -> Floats:
        """The integral over the panel."""
        return np.asarray(self.series.sum(axis=0), dtype=float)

    @property
    def first_moment(self) -> Floats:
        """The integral of w c_k(w) over the panel."""
        area = chebyshev.chebint(self.series, lbnd=-1).sum(axis=0) * 0.5 * (self.high - self.low)
        return np.asarray(self.high * self.mass - area, dtype=float)


class JointWindows:
    r"""P(W <= x, B = k) for k = 1..b-1, where B is the batch that takes the customer.

    Who arrives in a service and is taken by the next waits a uniform share of it: exact. Who has to see n
    full services through (window n) has a density in :math:`(n\tau_b,(n+1)\tau_b)`: with u the time since
    the start of the service found, :math:`c_k(w)=\frac\lambda{E[B]}\sum_p v_p(u)\,e^{-\lambda w}
    \frac{(\lambda w)^{k-1-p+nb}}{(k-1-p+nb)!}`, :math:`p\ge nb` the place in the queue. The densities are
    computed at Chebyshev points once and integrated as series.
    """

    def __init__(self, starts: ServiceStarts, service_s: Floats, *, free: float) -> None:
        self.starts, self.service_s = starts, service_s
        self.full_s = float(service_s[-1])
        self._panels: dict[int, list[Panel]] = {}
        self._below_windows = [np.zeros(starts.max_batch - 1)]  # mass of the windows 1..n-1
        self._last: int | None = None
        self._free = free  # arrivals that are served at once, alone
        self.first = self._next_batch()

    def _next_batch(self) -> Floats:
        """P(B = k, taken by the batch after the service found), by the size (1..b) of that service."""
        starts, b = self.starts, self.starts.max_batch
        means = starts.rate_rps * self.service_s
        counts = _poisson_rows(np.arange(b), means)  # (b, b) arrivals during the service
        weight = counts * np.arange(b) / starts.mean_batch
        present = starts.present(2 * b - 1)
        found = present[:b, None] * weight  # nobody left behind
        for left in range(1, b):
            found[-1, left:] += present[b - 1 + left] * weight[-1, : b - left]
        return np.asarray(found[:, 1:], dtype=float)  # (b, b - 1)

    def below(self, x: Floats | float) -> Floats:
        """P(W <= x[k - 1], B = k), k = 1..b-1; one number serves all k."""
        b = self.starts.max_batch
        limit = np.broadcast_to(np.asarray(x, dtype=float), (b - 1,))
        share = np.clip(limit / self.service_s[:, None], 0.0, 1.0)  # (b, b - 1)
        found = (self.first * share).sum(axis=0)
        found[0] += self._free * (limit[0] >= 0)
        number = np.floor(np.maximum(limit, 0.0) / self.full_s).astype(int)
        for n in np.unique(number[number > 0]):
            which = number == n
            found[which] += self._total_below(int(n))[which]
            for panel in self._window(int(n)):
                found[which] += panel.upto(limit)[which]
        return np.asarray(found, dtype=float)

    @property
    def total(self) -> Floats:
        """P(B = k), k = 1..b-1."""
        found = self.first.sum(axis=0) + sum(panel.mass for panel in self.panels)
        found[0] += self._free
        return np.asarray(found, dtype=float)

    @property
    def panels(self) -> list[Panel]:
        """All panels that hold something."""
        n = 1
        while self._window(n):
            n += 1
        return [panel for k in range(1, n) for panel in self._window(k)]

    @property
    def mean_wait_s(self) -> Floats:
        """E[W; B = k], k = 1..b-1, seconds."""
        total = (self.first * (0.5 * self.service_s[:, None])).sum(axis=0)
        total = total + sum(panel.first_moment for panel in self.panels)
        return np.asarray(total, dtype=float)

    def _total_below(self, n: int) -> Floats:
        """Mass of the windows 1..n-1; constant once the windows are empty."""
        while len(self._below_windows) < n:
            panels = self._window(len(self._below_windows))
            if not panels:
                return self._below_windows[-1]
            self._below_windows.append(self._below_windows[-1] + np.sum([p.mass for p in panels], axis=0))
        return self._below_windows[n - 1]

    def _window(self, n: int) -> list[Panel]:
        """The panels of window n; none from the first window on that holds nothing."""
        if self._last is not None and n >= self._last:
            return []
        if n not in self._panels:
            if n > 1 and not self._window(n - 1):
                return []
            panels = [self._panel(n, low, high) for low, high in self._breaks(n)]
            if sum(float(np.abs(panel.mass).sum()) for panel in panels) < _NOTHING:
                self._last = n
                return []
            self._panels[n] = panels
        return self._panels[n]

    def _breaks(self, n: int) -> list[tuple[float, float]]:
        """Panels of a window: cut where a service of a smaller batch ends, unless that is smooth anyway."""
        inner = self.service_s[:-1] if self.starts.max_batch <= _FEW_KINKS else np.empty(0)
        edges = n * self.full_s + np.unique(np.concatenate([[0.0], inner, [self.full_s]]))
        keep = np.concatenate([[True], np.diff(edges) > 1e-9 * self.full_s])
        edges = edges[keep]
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def _panel(self, n: int, low: float, high: float) -> Panel:
        nodes = 17
        if self.starts.max_batch > _FEW_KINKS:
            nodes += 16 * math.ceil(0.25 * math.sqrt(self.starts.rate_rps * self.full_s))
        while True:
            x = chebyshev.chebpts1(nodes)
            values = self._densities(n, 0.5 * (low + high) + 0.5 * (high - low) * x)  # (nodes, b - 1)
            series = chebyshev.chebfit(x, values, nodes - 1) if nodes < 64 else _fit(values)
            rough = float(np.abs(series[-2:]).max())
            if rough <= _SMOOTH * max(1.0, float(np.abs(series).max())) or nodes >= _MOST_NODES:
                break
            nodes = 2 * nodes - 1
        whole = chebyshev.chebint(series, lbnd=-1) * 0.5 * (high - low)
        return Panel(low=low, high=high, series=np.asarray(whole, dtype=float))

    def _densities(self, n: int, w: Floats) -> Floats:
        """c_k(w) for k = 1..b-1, shape (len(w), b - 1)."""
        starts, rate, b = self.starts, self.starts.rate_rps, self.starts.max_batch
        place = np.arange(n * b, n * b + b - 1)
        v = self._places_after_full(n, w)
        reach = starts.pmf[: b - 1] * poisson_reach(n * b, rate * self.service_s[: len(starts.pmf[: b - 1])])
        some = np.flatnonzero(reach > _NOTHING)
        means = np.linspace(0.0, n * b, 257)  # least: a mean below which nobody comes so far
        least = float(means[max(int(np.argmax(poisson_reach(n * b, means) > 0.01 * _NOTHING)) - 1, 0)])
        for i in np.array_split(some, 1 + len(some) * len(w) * b // _MOST_ENTRIES):
            mean = rate * np.maximum(self.service_s[i] + n * self.full_s - w[:, None], 0.0)  # (nodes, i)
            node, size = np.nonzero(mean > least)
            rows = starts.pmf[i][size, None] * _poisson_rows(place, mean[node, size])
            first = np.flatnonzero(np.diff(node, prepend=-1))
            if first.size:
                v[node[first]] += np.add.reduceat(rows, first, axis=0)
        behind = _poisson_rows(np.arange(b - 1), rate * w)
        return _convolve(v, behind, b - 1) * (rate / starts.mean_batch)

    def _places_after_full(self, n: int, w: Floats) -> Floats:
        """P(place nb..nb+b-2) of an arrival at time u into a full service, with the law of what it left."""
        b, rate = self.starts.max_batch, self.starts.rate_rps
        stop = n * b + b - 1
        left = self.starts.present(b - 1 + stop)[b - 1 :]  # (stop,) P(b + l present)
        since = np.maximum((n + 1) * self.full_s - w, 0.0)
        arrived = _poisson_rows(np.arange(stop), rate * since)
        return _convolve(arrived, left[None, :], stop)[:, n * b :]


def _poisson_rows(n: NDArray[np.intp], mean: Floats) -> Floats:
    """P(N = n) for each mean; faster than `poisson_pmf`, good to 12 digits for batches of 1000."""
    with np.errstate(under="ignore"):
        logs = np.log(np.maximum(mean, _NONE))[..., None]
        return np.exp(logs * n - (gammaln(n + 1.0) + mean[..., None]))


def _fit(values: Floats) -> Floats:
    """Chebyshev coefficients from values at the points of the first kind (a discrete cosine transform)."""
    n = len(values)
    even = np.concatenate([values[::-1], values])  # points run from -1 up: reverse to angles from 0
    shift = np.exp(-1j * np.pi * np.arange(n) / (2 * n))[:, None]
    series = (np.fft.fft(even, axis=0)[:n] * shift).real / n
    series[0] *= 0.5
    return np.asarray(series, dtype=float)


def _convolve(a: Floats, b: Floats, n: int) -> Floats:
    """Row-wise convolution, the first n terms."""
    size = 1 << int(np.ceil(np.log2(max(a.shape[1] + b.shape[1] - 1, 2))))
    return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:, :n]
