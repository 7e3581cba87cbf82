"""A queue that is solved takes chance out of the mean of another one with the same work at the same times."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sim.statistics import estimate_mean
from validation.agreement._surrogate import controlled_mean, waits_of

Floats = NDArray[np.float64]
_LOAD, _RUNS, _REQUESTS, _STUDIES = 0.9, 4, 40_000, 40


def drawn(seed: int) -> tuple[list[Floats], list[Floats]]:
    rng = np.random.default_rng([11, seed])
    size = (_RUNS, _REQUESTS)
    return list(rng.exponential(1.0 / _LOAD, size)), list(rng.gamma(2.0, 0.5, size))


def test_lindley_waits_are_those_of_a_queue_by_hand() -> None:
    gaps, works = np.array([0.5, 1.0, 0.5, 4.0]), np.array([2.0, 1.0, 1.0, 1.0])
    assert waits_of(gaps, works).tolist() == [0.0, 1.0, 1.5, 0.0]


def test_intervals_hold_the_mean_of_what_was_drawn_and_are_less_than_half_as_wide() -> None:
    held, narrower, off = [], [], []
    for seed in range(_STUDIES):
        gaps, works = drawn(seed)
        rng = np.random.default_rng([12, seed])
        other = [work * rng.uniform(0.7, 1.3, len(work)) for work in works]
        values = [waits_of(*each) for each in zip(gaps, other, strict=True)]
        found = controlled_mean(values, gaps, works)
        if found is None:
            continue
        mean, half = found
        rate, pooled = 1 / np.concatenate(gaps).mean(), np.concatenate(other)
        truth = rate * (pooled**2).mean() / 2 / (1 - rate * pooled.mean())
        plain = estimate_mean(values)
        held.append(abs(mean - truth) <= half)
        off.append(mean / truth - 1)
        narrower.append(2 * half / (plain.high - plain.low))
    assert len(held) >= 0.9 * _STUDIES
    assert np.mean(held) >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / len(held))
    assert abs(np.mean(off)) < 4 * np.std(off, ddof=1) / math.sqrt(len(off))
    assert np.median(narrower) < 0.5


def test_where_the_queue_has_no_steady_state_nothing_is_said() -> None:
    gaps, works = drawn(0)
    assert controlled_mean(works, gaps, [1.2 * work for work in works]) is None
    assert controlled_mean([work[:5] for work in works], [gap[:5] for gap in gaps], works) is None
