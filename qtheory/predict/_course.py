"""From what is met at each time to stretches, overloads and numbers of the whole time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._ranks import WEIGHTS, Met
from ._rates import Rates
from .stretches import Overload, Stretch

__all__ = ["Course"]

Floats = NDArray[np.float64]
_HALVINGS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """Cells of time (t,), what their requests meet, and what waits at their ends."""

    edges_s: Floats  # (t + 1,)
    come: Floats  # requests
    limit_rps: float
    met: Met
    end_waiting: Floats
    beyond: Floats  # requests without a place at their ends, in half of the cases; below 0 of free places
    rates: Rates

    def quantile(self, share: float, cells: slice = slice(None)) -> float:
        """Seconds to the first token that so many of the requests of some cells do not exceed."""
        times, weights = self.met.ttft_s[cells].ravel(), (self.come[cells, None] * WEIGHTS).ravel()
        order = np.argsort(times)
        below = np.cumsum(weights[order])
        return float(np.interp(share * below[-1], below - weights[order] / 2, times[order]))

    def mean(self, values: Floats, cells: slice = slice(None)) -> float:
        """Mean of a column (t,) over the requests of some cells."""
        return float(values[cells] @ self.come[cells] / self.come[cells].sum())

    def stretches(self, n: int) -> tuple[Stretch, ...]:
        """Equal parts of the time; those in which nobody comes are left out."""
        each = len(self.come) // n
        parts = [slice(k * each, (k + 1) * each) for k in range(n)]
        return tuple(self._stretch(part) for part in parts if self.come[part].sum() > 0)

    def _stretch(self, cells: slice) -> Stretch:
        start, end = float(self.edges_s[cells.start]), float(self.edges_s[cells.stop])
        rate = float(self.come[cells].sum()) / (end - start)
        return Stretch(
            start_s=start,
            length_s=end - start,
            rate_rps=rate,
            load_frac=rate / self.limit_rps,
            goodput_frac=self.mean(self.met.goodput_frac, cells),
            mean_ttft_s=self.mean(self.met.mean_ttft_s, cells),
            p50_ttft_s=self.quantile(0.5, cells),
            p99_ttft_s=self.quantile(0.99, cells),
            end_waiting=float(self.end_waiting[cells.stop - 1]),
        )

    def overloads(self) -> tuple[Overload, ...]:
        """Times above the limit, each until what has gathered is gone."""
        above, is_clear = self.come > self.limit_rps * np.diff(self.edges_s), self.beyond <= 0
        found: list[Overload] = []
        cell, n = 0, len(above)
        while cell < n:
            if not above[cell]:
                cell += 1
                continue
            start = cell
            while cell < n and (above[cell] or not is_clear[cell]):
                cell += 1
            last = start + int(np.flatnonzero(above[start:cell])[-1])
            peak = start + int(self.end_waiting[start:cell].argmax())
            end_s = self._crossing(last, last + 1)
            near = end_s if last in (peak, peak + 1) else float(self.edges_s[peak + 1])  # none serves more
            found.append(
                Overload(
                    start_s=self._crossing(start - 1, start),
                    end_s=end_s,
                    peak_waiting=float(self.end_waiting[peak]),
                    peak_s=near,
                    cleared_s=self._cleared(cell, end_s) if cell < n or is_clear[-1] else None,
                )
            )
        return tuple(found)

    def _crossing(self, before: int, after: int) -> float:
        """When the rate crosses the limit between two neighbours, of which one is above; else their edge."""
        edge = float(self.edges_s[after])
        if before < 0 or after >= len(self.come):
            return edge
        low, high = (float(self.edges_s[cell : cell + 2].mean()) for cell in (before, after))
        is_up = self._is_above(high)
        if self._is_above(low) == is_up:
            return edge
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._is_above(middle) == is_up else (middle, high)
        return high

    def _is_above(self, time_s: float) -> bool:
        """Whether the rate at a moment is above the limit."""
        beside = 1e-5 * float(self.edges_s[1] - self.edges_s[0])
        come = np.diff(self.rates.arrived(np.array([time_s - beside, time_s + beside])))
        return bool(come[0] > self.limit_rps * 2 * beside)

    def _cleared(self, cell: int, end_s: float) -> float:
        """When all have a place, in the first cell that ends so; until then every place serves."""
        if cell == len(self.come) or self.beyond[cell - 1] <= 0:
            return end_s
        length = float(self.edges_s[cell + 1] - self.edges_s[cell])
        falls_rps = self.limit_rps - float(self.come[cell]) / length
        return float(self.edges_s[cell]) + min(float(self.beyond[cell - 1]) / falls_rps, length)
