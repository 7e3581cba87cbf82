"""Requests of one burst beside each other on an instance that decodes: how many, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload import Arrivals, MmppArrivals, OpenArrivals

from ._clumps import Clumps
from .demand import Demand

__all__ = ["Mates", "lags_of"]

Floats = NDArray[np.float64]

_CELLS = 2048
_LOST = 1e-4  # of the steps, in the longest requests
_N_LAGS, _SHORTEST, _NEAR = 32, 1e-6, 1e-3  # of the longest, and of a time


@dataclass(frozen=True, kw_only=True, eq=False)
class Mates:
    r"""Pairs of a burst that begin ``apart`` steps apart with probabilities ``weights``.

    With the mean profiles of a request, :math:`S(u)` that it still runs and :math:`W(u)` of its load, a pair
    has :math:`\int S(u)W(u+x)du` beside each other x steps later. Loads count 1 for mean tokens.
    """

    demand: Demand
    by_tokens: float
    apart: Floats
    weights: Floats

    @cached_property
    def _cell(self) -> float:
        order = np.argsort(self.demand.decode_steps)
        steps, probs = self.demand.decode_steps[order], self.demand.decode_probs[order]
        over = np.cumsum((probs * steps)[::-1])[::-1]  # steps of the requests that have so many
        longest = steps[np.flatnonzero(over > _LOST * over[0])[-1]] if over[0] > 0 else 1.0
        return max(float(longest) + 1.0, 2.0) / _CELLS

    @cached_property
    def _profiles(self) -> tuple[Floats, Floats]:
        """Share that still runs, and mean load, in the middle of cells (k,)."""
        demand, slope = self.demand, self.by_tokens / self.demand.mean_context
        order = np.argsort(demand.decode_steps)
        steps, probs = demand.decode_steps[order], demand.decode_probs[order] / demand.decode_probs.sum()
        edges = self._cell * np.arange(_CELLS + 1.0)
        below, sums = np.cumsum(np.append(0.0, probs)), np.cumsum(np.append(0.0, probs * steps))
        squares = np.cumsum(np.append(0.0, probs * steps**2))
        asked = probs * demand.prompt_given_decode[order]
        prompts, held = np.cumsum(np.append(0.0, asked)), np.cumsum(np.append(0.0, asked * steps))
        at = np.searchsorted(steps, edges, side="right")
        number = sums[at] + edges * (1 - below[at])  # steps in the mean until each edge
        aged = squares[at] / 2 + edges**2 / 2 * (1 - below[at])
        carried = held[at] + edges * (prompts[-1] - prompts[at])
        load = (1 - self.by_tokens) * number + slope * (aged + carried)
        return np.diff(number) / self._cell, np.diff(load) / self._cell

    def _pairs(self, one: Floats, other: Floats) -> Floats:
        """What is beside each other so many cells apart (k,), either first, for pairs of a burst."""
        product = np.fft.rfft(one, 2 * _CELLS).conj() * np.fft.rfft(other, 2 * _CELLS)
        found = np.fft.irfft(product, 2 * _CELLS)
        found = (found + np.roll(found[::-1], 1)) / 2 * self._cell  # even
        x, lag = np.arange(_CELLS, dtype=np.float64), self.apart[:, None] / self._cell
        places = np.arange(_CELLS + 1.0)
        values = np.append(found[:_CELLS], 0.0)
        both = np.interp(x + lag, places, values) + np.interp(np.abs(x - lag), places, values)
        return np.asarray(self.weights @ both / 2 / self.demand.mean_decode)

    @cached_property
    def together(self) -> float:
        """Load of a mate beside a request, in the mean over the steps of all."""
        return float(self._pairs(*self._profiles)[0])

    @cached_property
    def numbers(self) -> float:
        """Share of its stay for which a request has a mate beside it."""
        number, _ = self._profiles
        return float(self._pairs(number, number)[0])

    def kept(self, windows: Floats) -> Floats:
        """Covariance of the loads of mates, for one that runs, in the mean over so many steps (t,)."""
        _, load = self._profiles
        beside = self._pairs(load, load)
        once = np.append(0.0, np.cumsum(beside))
        twice = np.append(0.0, np.cumsum(beside * (np.arange(_CELLS) + 0.5)))
        t = windows / self._cell
        at = np.minimum(t, _CELLS)
        places = np.arange(_CELLS + 1.0)
        area = t * np.interp(at, places, once) - np.interp(at, places, twice)
        return np.asarray(np.where(t > 1, 2 * area / np.maximum(t, 1.0) ** 2, beside[0]))

    def beside(self, windows: Floats) -> Floats:
        """Mean load of a mate beside a request over its stay of so many steps (t,)."""
        _, load = self._profiles
        places, x = np.arange(_CELLS + 1.0), np.arange(_CELLS) + 0.5
        values, lag = np.append(load, 0.0), self.apart[:, None] / self._cell
        before = np.interp(x + lag, places + 0.5, values)
        after = np.where(x > lag, np.interp(x - lag, places + 0.5, values), 0.0)
        now = self.weights @ (before + after) / 2
        until = np.append(0.0, np.cumsum(now))
        t = windows / self._cell
        return np.asarray(np.where(t > 1, np.interp(t, places, until) / np.maximum(t, 1.0), now[0]))


def lags_of(
    arrivals: Arrivals, dispersion: float, rate_rps: float, longest_s: float
) -> tuple[Floats, Floats]:
    """Seconds between the arrivals of a burst, and probabilities: at once but for bursts that last."""
    if not isinstance(arrivals, OpenArrivals) or dispersion <= 1:
        return np.zeros(1), np.ones(1)
    edges = np.geomspace(_SHORTEST, 1.0, _N_LAGS + 1) * longest_s
    if isinstance(arrivals, MmppArrivals):  # who follows within t is the growth of t (I(t) - 1) / 2
        near = edges[:, None] * np.array([1 - _NEAR, 1 + _NEAR])
        varied = [[t * (arrivals.dispersion(rate_rps, t) - 1) / 2 for t in pair] for pair in near.tolist()]
        found = np.diff(varied, axis=1)[:, 0] / (2 * _NEAR * edges)
    else:
        clumps = Clumps(arrivals=arrivals, dispersion=dispersion)
        found = clumps.following(edges[:, None], np.array([rate_rps]))[:, 0]
    more = np.maximum(np.diff(found, prepend=0.0), 0.0)
    if not more.sum() > 0:  # nothing known of the way in which they come
        return np.zeros(1), np.ones(1)
    return np.append(0.0, np.sqrt(edges[1:] * edges[:-1])), np.asarray(more / more.sum())
