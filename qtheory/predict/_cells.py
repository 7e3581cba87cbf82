"""Prompt tokens on a grid of equal cells: laws of lengths, and of the tokens that arrive in a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .demand import Demand

__all__ = ["Inflow", "between", "spread"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def spread(places: Floats, weights: Floats, n: int) -> Floats:
    """Weights at ``places``, shared between the cells 0 .. n-1 on both sides so that the mean is kept."""
    low = np.clip(places.astype(np.intp), 0, n - 1)
    share = np.clip(places - low, 0.0, 1.0)
    high = np.minimum(low + 1, n - 1)
    lower = np.bincount(low, weights * (1 - share), n)
    upper = np.bincount(high, weights * share, n)
    return np.asarray(lower + upper)


def between(nodes: Floats, x: Floats) -> tuple[Ints, Floats]:
    """For each ``x`` the node below it and the share of the way to the next, kept within the nodes."""
    low = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    share = np.clip((x - nodes[low]) / (nodes[low + 1] - nodes[low]), 0.0, 1.0)
    return low, share


@dataclass(frozen=True, eq=False)
class Inflow:
    """Laws of the prompt tokens that arrive in given times, and of one prompt.

    Arrivals that are more variable than Poisson come in geometric batches of the same index of dispersion.
    """

    times_s: Floats  # (k,) increasing
    laws: Floats  # (k, n) of the tokens in each time, in cells; the last cell holds the rest
    steps: Floats  # (k, n) mean decode steps that come with them, times the law
    batch: Floats  # (n,) of a batch
    batch_steps: Floats  # (n,) mean decode steps that come with it, times the law
    starts_rps: float  # rate of batches
    transform: NDArray[np.complex128]  # of a batch

    @classmethod
    def of(
        cls,
        demand: Demand,
        tokens: Floats,
        work: Floats,
        *,
        rate_rps: float,
        cell: float,
        n: int,
        times_s: Floats,
    ) -> Inflow:
        """With prompts of ``tokens`` and mean ``work`` (by ``demand.prompt_probs``) on ``n`` cells."""
        length = 1 << int(np.ceil(np.log2(4 * n)))
        one = spread(tokens / cell, demand.prompt_probs, length)
        brought = spread(tokens / cell, demand.prompt_probs * work, length)
        transform = np.fft.rfft(one)
        mean_batch = max((1 + demand.burstiness) / 2, 1.0)
        rest = mean_batch - (mean_batch - 1) * transform
        starts_rps = rate_rps / mean_batch
        batch, batch_steps = transform / rest, mean_batch / rest**2 * np.fft.rfft(brought)
        grown = np.exp(np.outer(starts_rps * times_s, batch - 1))
        with_steps = np.outer(starts_rps * times_s, batch_steps) * grown
        laws, steps, *alone = (
            _folded(np.fft.irfft(np.atleast_2d(each), length, axis=1), n)
            for each in (grown, with_steps, batch, batch_steps)
        )
        return cls(
            times_s=times_s,
            laws=laws,
            steps=steps,
            batch=alone[0][0],
            batch_steps=alone[1][0],
            starts_rps=starts_rps,
            transform=batch,
        )

    def laws_in(self, times_s: Floats) -> Floats:
        """Laws (len, n) in other times, computed anew."""
        grown = np.exp(np.outer(self.starts_rps * times_s, self.transform - 1))
        return _folded(np.fft.irfft(grown, axis=1), len(self.batch))

    def at(self, times_s: Floats) -> Floats:
        """Laws (len, n) at other times, by interpolation: the mean is exact."""
        low, share = between(self.times_s, times_s)
        return np.asarray((1 - share)[:, None] * self.laws[low] + share[:, None] * self.laws[low + 1])

    def shifted(self, times_s: Floats, start: Ints) -> tuple[Floats, Floats]:
        """Transition rows (m, n) from ``start`` by the tokens that come; decode steps gained on each way."""
        n = self.laws.shape[1]
        low, share = between(self.times_s, times_s)
        first, second = (1 - share)[:, None], share[:, None]
        rows, steps = (
            first * windows[low, n - start] + second * windows[low + 1, n - start]
            for windows in self._windows
        )
        rows[:, -1] += 1 - rows.sum(axis=1)
        steps[:, -1] += times_s * self.steps_per_s - steps.sum(axis=1)
        gained = np.divide(steps, rows, out=np.zeros_like(rows), where=rows > 1e-15)
        return rows, gained

    @cached_property
    def _windows(self) -> tuple[Floats, Floats]:
        """Laws and decode steps (k, n + 1, n), moved up by n, n - 1, ..., 0 cells."""
        n = self.laws.shape[1]
        padded = (np.pad(each, ((0, 0), (n, 0))) for each in (self.laws, self.steps))
        laws, steps = (np.lib.stride_tricks.sliding_window_view(each, n, axis=1) for each in padded)
        return laws, steps

    @property
    def steps_per_s(self) -> float:
        """Decode steps that arrive in a second."""
        return float(self.steps[-1].sum() / self.times_s[-1])


def _folded(laws: Floats, n: int) -> Floats:
    kept = laws[:, :n].clip(0.0)
    kept[:, -1] += laws[:, n:].clip(0.0).sum(axis=1)
    return np.asarray(kept)
