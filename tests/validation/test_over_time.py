"""Predictions over time and simulations of the same drawn profile, side by side."""

from __future__ import annotations

import pytest

from validation.over_time import compared, drawn


def test_the_systems_are_those_of_the_page() -> None:
    first = drawn(0)
    assert (first.hardware, first.workload, first.scheduler) == ("l40s", "chat", "chunked")
    assert first.arrivals == "day(peak_to_mean=1.84,period_s=900)"


@pytest.mark.slow
def test_an_overload_is_predicted_within_what_runs_differ_by() -> None:
    found = compared(drawn(0), n_runs=4, tier="closed")
    assert found.parts.shape == (4, 12, 2)
    off = abs(found.predicted.mean_ttft_s - found.mean_ttft_s)
    assert off < 4 * found.mean_ttft_error_s + 0.05 * found.mean_ttft_s
    assert found.row().startswith("| l40s, llama-3.1-8b, chat, chunked | sine, 900 | 1.29 |")
