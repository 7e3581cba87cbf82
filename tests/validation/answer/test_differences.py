"""Differences between schedulers: those of rounding are none."""

from __future__ import annotations

from dataclasses import replace

from qtheory.system.scenario import Scenario
from validation.answer import compare, differences


def test_what_only_rounding_tells_apart_is_no_difference() -> None:
    first, second = compare(Scenario(hardware="rtx3050", requests=20), ["fcfs", "chunked"])
    values = first.values["mean_ttft_s"]
    noisy = [value * (1 - 4e-15) for value in values if value is not None]
    assert tuple(noisy) != values
    same = replace(second, values=dict(first.values) | {"mean_ttft_s": tuple(noisy)})
    [found] = [one for one in differences([first, same]) if one.quantity == "mean_ttft_s"]
    assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)
    assert found.verdict == "no difference"


def test_a_difference_in_the_tenth_digit_is_one() -> None:
    first, second = compare(Scenario(hardware="rtx3050", requests=20), ["fcfs", "chunked"])
    above = [value * (1 + 1e-9) for value in first.values["mean_ttft_s"] if value is not None]
    more = replace(second, values=dict(first.values) | {"mean_ttft_s": tuple(above)})
    [found] = [one for one in differences([first, more]) if one.quantity == "mean_ttft_s"]
    assert found.verdict == "fcfs lower"
