"""A queue that is solved takes chance out of another one with nearly the same work at the same times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sim.statistics import estimate_mean, estimate_percentile
from validation.agreement._freed import Controlled, Freed
from validation.agreement._one_server import wait_law
from validation.agreement._surrogate import controlled_values, waits_of

Floats = NDArray[np.float64]
_LOAD, _SHARE, _RUNS, _REQUESTS, _STUDIES = 0.7, 0.99, 4, 20_000, 12


def drawn(seed: int, gap_scv: float, n: int = _REQUESTS) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Gaps, works of a server that is solved, and waits where each work is longer or shorter."""
    rng = np.random.default_rng([11, seed])
    gaps = rng.gamma(1 / gap_scv, gap_scv / _LOAD, (_RUNS, n))
    works = rng.gamma(2.0, 0.5, (_RUNS, n))
    other = works * rng.uniform(0.7, 1.3, works.shape)
    return list(gaps), list(works), list(other)


def freed(gaps: list[Floats], works: list[Floats], values: list[Floats], scv: float) -> Controlled | None:
    load = float(np.mean(works) / np.mean(gaps))
    return controlled_values(
        values, gaps, [[each] for each in works], load=load, gap_scv=scv, n_cut=values[0].size // 50
    )


def test_lindley_waits_are_those_of_a_queue_by_hand() -> None:
    gaps, works = np.array([0.5, 1.0, 0.5, 4.0]), np.array([2.0, 1.0, 1.0, 1.0])
    assert waits_of(gaps, works).tolist() == [0.0, 1.0, 1.5, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize("scv", [1.0, 4.0], ids=["Poisson", "bursty"])
def test_intervals_hold_mean_and_percentile_and_are_narrower(scv: float) -> None:
    held: dict[str, list[bool]] = {"mean": [], "p99": []}
    off: dict[str, list[float]] = {"mean": [], "p99": []}
    narrower: dict[str, list[float]] = {"mean": [], "p99": []}
    for seed in range(_STUDIES):
        gaps, works, other = drawn(seed, scv)
        values = [waits_of(*each) for each in zip(gaps, other, strict=True)]
        law = wait_law(gap_s=float(np.concatenate(gaps).mean()), gap_scv=scv, works_s=np.concatenate(other))
        found = freed(gaps, works, values, scv)
        assert found is not None
        told: dict[str, tuple[Freed | None, float, float]] = {
            "mean": (found.mean(), law.mean_s, estimate_mean(values).half_width),
            "p99": (
                found.percentile(_SHARE),
                law.quantile_s(_SHARE),
                estimate_percentile(values, 100 * _SHARE).half_width,
            ),
        }
        for name, (one, truth, plain) in told.items():
            if one is not None:
                held[name].append(abs(one[0] - truth) <= one[1])
                off[name].append(one[0] / truth - 1)
                narrower[name].append(one[1] / plain)
    for name in told:
        n = len(held[name])
        assert n >= 0.8 * _STUDIES
        assert np.mean(held[name]) >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / n)
        assert abs(np.mean(off[name])) < 4 * np.std(off[name], ddof=1) / math.sqrt(n)
        assert np.median(narrower[name]) < {"mean": 0.5, "p99": 0.75}[name]


def test_where_the_queue_has_no_steady_state_or_runs_are_short_nothing_is_said() -> None:
    gaps, works, other = drawn(0, 1.0, n=8_000)
    table = [[each] for each in works]
    assert controlled_values(other, gaps, table, load=0.995, gap_scv=1.0, n_cut=0) is None
    assert controlled_values(other, gaps, table, load=0.9, gap_scv=1.0, n_cut=1) is None


def test_a_percentile_beyond_which_hardly_anything_was_seen_is_not_told() -> None:
    gaps, works, other = drawn(1, 1.0, n=8_000)
    values = [waits_of(*each) for each in zip(gaps, other, strict=True)]
    found = controlled_values(values, gaps, [[each] for each in works], load=0.7, gap_scv=1.0, n_cut=0)
    assert found is not None
    assert found.percentile(0.9) is not None
    assert found.percentile(0.9999) is None


def test_of_requests_that_are_turned_away_there_are_no_values_and_none_are_made_up() -> None:
    gaps, works, other = drawn(2, 1.0)
    values = [waits_of(*each) for each in zip(gaps, other, strict=True)]
    rng = np.random.default_rng(13)
    some = [np.where(rng.random(each.size) < 0.1, np.nan, each) for each in values]
    every, part = freed(gaps, works, values, 1.0), freed(gaps, works, some, 1.0)
    assert every is not None
    assert part is not None
    for wanted, found in ((every.mean(), part.mean()), (every.percentile(0.9), part.percentile(0.9))):
        assert wanted is not None
        assert found is not None
        assert abs(found[0] / wanted[0] - 1) < 0.02
