"""Labels and values of fields, told by the unit at the end of the name."""

from __future__ import annotations

import math

import pytest

from qtheory.basics.units import format_value, label, percent


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mean_ttft_s", "mean TTFT (s)"),
        ("p99_itl_s", "p99 ITL (s)"),
        ("rate_rps", "rate (req/s)"),
        ("output_tps", "output (tokens/s)"),
        ("prompt_tokens", "prompt (tokens)"),
        ("peak_flops_per_s", "peak (FLOP/s)"),
        ("bandwidth_bytes_per_s", "bandwidth (bytes/s)"),
        ("memory_bytes", "memory (bytes)"),
        ("peak_kv_frac", "peak KV (%)"),
        ("tdp_w", "tdp (W)"),
        ("n_requests", "requests"),
        ("mean_running", "mean running"),
        ("kv_blocks", "KV blocks"),
    ],
)
def test_a_name_becomes_words_with_the_longest_unit_at_its_end(name: str, words: str) -> None:
    assert label(name) == words


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mean_ttft_s", 0.0123456, "0.01235"),
        ("mean_ttft_s", 123456.0, "1.235e+05"),
        ("goodput_frac", 0.98765, "98.8"),
        ("goodput_frac", 1, "100.0"),
        ("knee_change_frac", -0.0002, "0.0"),
        ("knee_change_frac", -0.0006, "-0.1"),
        ("n_requests", 9999, "9999"),
        ("n_requests", 10_000, "10,000"),
        ("n_requests", -12_345, "-12,345"),
        ("mean_ttft_s", None, "-"),
        ("mean_ttft_s", math.nan, "-"),
        ("rate_rps", math.inf, "inf"),
        ("prefix_cache", True, "True"),
        ("scheduler", "fcfs", "fcfs"),
    ],
)
def test_a_value_is_printed_in_the_unit_of_its_name(name: str, value: object, text: str) -> None:
    assert format_value(name, value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.95, "95 %"), (0.55, "55 %"), (0.999, "99.9 %"), (1 - 1e-9, "99.9999999 %"), (1.0, "100 %")],
)
def test_only_one_is_a_hundred_per_cent(share: float, text: str) -> None:
    assert percent(share) == text
