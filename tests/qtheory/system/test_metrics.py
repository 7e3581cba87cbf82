"""Latency and goodput by their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.metrics import good, percentile, tpot_s, weighted_percentiles
from qtheory.system.slo import Slo

SAMPLES = st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 5)), min_size=1, max_size=30).filter(
    lambda rows: any(count for _, count in rows)
)


@given(SAMPLES, st.floats(0, 100))
def test_weighted_percentiles_are_those_of_the_repeated_sample(
    rows: list[tuple[float, int]], q: float
) -> None:
    values, counts = (np.array(column) for column in zip(*rows, strict=True))
    repeated = np.repeat(values, counts)
    scale = np.abs(repeated).max()  # of rounding in the interpolation
    assert weighted_percentiles(values, counts, [q, 50]) == pytest.approx(
        np.percentile(repeated, [q, 50]).tolist(), rel=1e-9, abs=1e-12 * scale
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 100))
def test_a_percentile_lies_within_the_sample_and_rises(values: list[float], q: float) -> None:
    found, median = percentile(values, q), percentile(values, 50)
    assert found is not None
    assert median is not None
    assert min(values) <= found <= max(values)
    assert found <= median if q <= 50 else found >= median


def test_a_sample_without_values_has_no_percentile() -> None:
    assert percentile([], 50) is None
    assert weighted_percentiles([], [], [50]) is None
    assert weighted_percentiles([1.0, 2.0], [0, 0], [50]) is None


@pytest.mark.parametrize("q", [-0.1, 100.1, math.nan])
def test_a_level_that_is_no_percentage_is_refused(q: float) -> None:
    with pytest.raises(ConfigError, match=r"^q: "):
        percentile([1.0], q)
    with pytest.raises(ConfigError, match=r"^q: "):
        weighted_percentiles([1.0], [1], [50, q])


def test_weights_must_fit_the_values() -> None:
    with pytest.raises(ConfigError, match=r"^counts: shape \(1,\), but values have shape \(2,\)"):
        weighted_percentiles([1.0, 2.0], [1], [50])
    with pytest.raises(ConfigError, match=r"^counts: -1 must be >= 0"):
        weighted_percentiles([1.0, 2.0], [3, -1], [50])


def test_time_per_token_counts_the_gaps_and_a_single_token_has_none() -> None:
    seen = tpot_s([1.0, 1.0, 1.0, np.nan], [3.0, 1.0, 9.0, np.nan], [2, 1, 5, 4])
    assert seen == pytest.approx([2.0, np.nan, 2.0, np.nan], nan_ok=True)


def test_a_request_is_good_if_it_ends_within_every_limit() -> None:
    limits = Slo(ttft_s=1.0, tpot_s=0.1, e2e_s=5.0)
    rows = [
        # ttft, tpot, e2e, finished, good
        (1.0, 0.1, 5.0, True, True),  # limits are inclusive
        (1.0 + 1e-9, 0.1, 5.0, True, False),
        (1.0, 0.1 + 1e-9, 5.0, True, False),
        (1.0, 0.1, 5.0 + 1e-9, True, False),
        (0.5, np.nan, 0.5, True, True),  # one token: no time per token
        (0.5, 0.05, 2.0, False, False),
        (np.nan, np.nan, np.nan, False, False),
    ]
    ttft, tpot, e2e, finished, expected = (list(column) for column in zip(*rows, strict=True))
    seen = good(limits, ttft_s=ttft, tpot_s=tpot, e2e_s=e2e, finished=finished)
    assert seen.tolist() == expected


def test_without_limits_every_finished_request_is_good() -> None:
    late = [1e9, 1e9]
    assert good(Slo(), ttft_s=late, tpot_s=late, e2e_s=late, finished=[True, False]).tolist() == [True, False]


@pytest.mark.parametrize("field", ["ttft_s", "tpot_s", "e2e_s"])
@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf, "2"])
def test_a_limit_is_a_finite_time(field: str, limit: object) -> None:
    with pytest.raises(ConfigError, match=field.removesuffix("_s")):
        Slo(**{field: limit})  # type: ignore[arg-type]
