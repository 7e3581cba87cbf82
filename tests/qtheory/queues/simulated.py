"""Vectorised simulations to hold formulas against, and the four-standard-error rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtheory.laws import Law

__all__ = ["agrees", "draws", "fcfs_waits", "poisson_intervals"]

Floats = NDArray[np.float64]


def poisson_intervals(rng: np.random.Generator, rate_rps: float, shape: tuple[int, int]) -> Floats:
    """Exponential intervals, replications by customers."""
    return rng.exponential(1 / rate_rps, shape)


def fcfs_waits(intervals: Floats, services: Floats, *, keep_from: int = 0) -> Floats:
    """Waits of a single server by Lindley's recursion, replications by customers; the first waits 0."""
    steps = np.zeros_like(services)
    steps[:, 1:] = services[:, :-1] - intervals[:, 1:]
    walk = np.cumsum(steps, axis=1)
    return (walk - np.minimum.accumulate(walk, axis=1))[:, keep_from:]


def agrees(samples: Floats, value: float) -> bool:
    """Whether a value lies within four standard errors of the mean over replications (first axis)."""
    means = samples.mean(axis=1) if samples.ndim > 1 else samples
    error = means.std(ddof=1) / np.sqrt(means.size)
    return bool(abs(means.mean() - value) <= 4 * error)


def draws(law: Law, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent values of a law."""
    return np.asarray(law.sample(rng, shape), dtype=float)
