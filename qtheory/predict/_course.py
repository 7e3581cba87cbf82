"""From what is met at each time to stretches, overloads and numbers of the whole time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._ranks import WEIGHTS, Met
from .stretches import Overload, Stretch

__all__ = ["Course"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """Cells of time (t,), what their requests meet, and what waits at their ends."""

    edges_s: Floats  # (t + 1,)
    come: Floats  # requests
    limit_rps: float
    met: Met
    end_waiting: Floats
    is_clear: NDArray[np.bool_]  # whether in half of the cases nobody waits for a place

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
        above = self.come > self.limit_rps * np.diff(self.edges_s)
        found: list[Overload] = []
        cell, n = 0, len(above)
        while cell < n:
            if not above[cell]:
                cell += 1
                continue
            start = cell
            while cell < n and (above[cell] or not self.is_clear[cell]):
                cell += 1
            last = start + int(np.flatnonzero(above[start:cell])[-1])
            peak = start + int(self.end_waiting[start:cell].argmax())
            found.append(
                Overload(
                    start_s=float(self.edges_s[start]),
                    end_s=float(self.edges_s[last + 1]),
                    peak_waiting=float(self.end_waiting[peak]),
                    peak_s=float(self.edges_s[peak + 1]),
                    cleared_s=float(self.edges_s[cell]) if cell < n or self.is_clear[-1] else None,
                )
            )
        return tuple(found)
