"""Intervals of a calibration hold what was planted as often as they say.

What is planted is drawn from how far usual values are off, and the measurements err as much as the model is
said to: then 95 % of the intervals should hold it. Refused measurements count as intervals that do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from tests.validation.calibrate.planted import (
    CLOSED,
    FITTED,
    H100,
    OPEN,
    planted,
    requests_file,
    steps_file,
    sweep_file,
)
from validation.calibrate import calibrate
from validation.calibrate.server import OUTSIDE

SHARE = 0.95
LEVEL = 1e-3  # of the test of each parameter, both sides together


def chance(hits: int, n: int) -> float:
    """Probability of a number of hits as unlikely as this one or more so (exact, both sides)."""
    each = [math.comb(n, k) * SHARE**k * (1 - SHARE) ** (n - k) for k in range(n + 1)]
    return sum(p for p in each if p <= each[hits] * (1 + 1e-9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "n_files", "names"),
    [
        (steps_file, 150, FITTED),
        (requests_file, 24, FITTED),
        (lambda *given: sweep_file(*given, OPEN), 16, (*FITTED, OUTSIDE)),
        (lambda *given: sweep_file(*given, CLOSED), 16, (*FITTED, OUTSIDE)),
    ],
    ids=["steps", "requests", "open loop", "closed loop"],
)
def test_intervals_hold_what_was_planted_in_their_share(
    make: Callable[..., Path], n_files: int, names: tuple[str, ...], tmp_path: Path
) -> None:
    held: dict[str, list[bool]] = {name: [] for name in names}
    for seed in range(n_files):
        rng = np.random.default_rng([n_files, seed])
        values = planted(rng)
        path = make(tmp_path / ("measured.jsonl" if OUTSIDE in names else "measured.csv"), rng, values)
        for name, hit in holds(path, names, values).items():
            held[name].append(hit)
    told = {name: (sum(hits), len(hits)) for name, hits in held.items()}
    for name, (hits, n) in told.items():
        assert n >= 0.9 * n_files, (name, told)
        assert chance(hits, n) > LEVEL, (name, told)


def holds(path: Path, names: tuple[str, ...], values: dict[str, float]) -> dict[str, bool]:
    """Which intervals hold what was planted; those that are not given are left out."""
    try:
        found: Any = calibrate([path], H100)
    except ConfigError as error:
        if "more than the accelerator has" not in str(error):
            raise
        return dict.fromkeys(names, False)
    limits = {name: found.interval(name) for name in names if name in found.errors}
    return {name: low <= values[name] <= high for name, (low, high) in limits.items()}


def test_the_chance_is_that_of_both_sides() -> None:
    assert chance(19, 20) == pytest.approx(1.0)
    assert chance(0, 1) == pytest.approx(0.05)
    assert chance(15, 20) < 0.01
