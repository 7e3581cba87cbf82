"""Accelerators: what is accepted, what is refused, what follows from the figures."""

from __future__ import annotations

import pickle
from dataclasses import asdict, replace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware

FIGURES: dict[str, Any] = {
    "name": "mine",
    "peak_flops_per_s": {"bf16": 100e12, "int8": 200e12},
    "memory_bytes": 24e9,
    "bandwidth_bytes_per_s": 1e12,
    "link_bytes_per_s": 32e9,
}


def test_formats_without_units_of_their_own_compute_in_sixteen_bits() -> None:
    card = Hardware(**FIGURES)
    assert card.flops_per_s("int8") == 200e12
    assert card.flops_per_s("fp8") == card.flops_per_s("int4") == card.flops_per_s("bf16") == 100e12


def test_a_card_without_bf16_computes_in_fp16() -> None:
    card = Hardware(**FIGURES | {"peak_flops_per_s": {"fp16": 65e12}})
    assert card.sixteen_bit == "fp16"
    assert card.flops_per_s("bf16") == 65e12


@pytest.mark.parametrize(("memory_bytes", "budget"), [(15.99e9, 512), (16e9, 2048), (80e9, 2048)])
def test_small_cards_have_a_small_budget(memory_bytes: float, budget: int) -> None:
    assert Hardware(**FIGURES | {"memory_bytes": memory_bytes}).budget_tokens == budget


def test_a_given_budget_stays() -> None:
    assert Hardware(**FIGURES, budget_tokens=96).budget_tokens == 96


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mfu_frac", 1.2),
        ("mfu_frac", 0.0),
        ("mbu_frac", -0.1),
        ("attention_mbu_frac", float("nan")),
        ("link_frac", "0.5"),
        ("memory_bytes", 0),
        ("memory_bytes", 1e30),
        ("memory_bytes", 10**400),
        ("bandwidth_bytes_per_s", float("inf")),
        ("link_bytes_per_s", True),
        ("overhead_per_step_s", -1e-3),
        ("overhead_per_layer_s", None),
        ("tdp_w", 0),
        ("usd_per_hour", "cheap"),
        ("budget_tokens", 1.5),
        ("name", 7),
        ("peak_flops_per_s", {}),
        ("peak_flops_per_s", 1e12),
        ("peak_flops_per_s", {"bf16": -1.0}),
        ("peak_flops_per_s", {"bf17": 1e12}),
        ("peak_flops_per_s", {"fp8": 1e12}),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{field}") as caught:
        Hardware(**FIGURES | {field: value})
    assert "\n" not in str(caught.value)


def test_cards_are_plain_values() -> None:
    card = Hardware(**FIGURES)
    assert pickle.loads(pickle.dumps(card)) == card
    assert len({card, Hardware(**FIGURES), replace(card, mfu_frac=0.5)}) == 2
    assert Hardware(**asdict(card)) == card


def test_peaks_do_not_change_with_the_table_they_came_from() -> None:
    peaks = {"bf16": 1e12}
    card = Hardware(**FIGURES | {"peak_flops_per_s": peaks})
    peaks["bf16"] = 2e12
    assert card.flops_per_s("bf16") == 1e12
