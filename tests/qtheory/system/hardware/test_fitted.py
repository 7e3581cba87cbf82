"""Efficiencies of accelerators under an engine."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware, hardware_names
from qtheory.system.hardware.fitted import (
    ENGINES,
    efficiencies_of,
    fitted_rows,
    generic_efficiencies,
)


def test_every_row_names_presets_its_source_and_possible_shares() -> None:
    for row in fitted_rows():
        assert set(row.cards) <= set(hardware_names())
        assert row.engine in ENGINES
        assert len(row.source) > 20
        assert all(0 < value <= 1 for value in row.constants().values())
        assert 0 < row.median_frac < row.p90_frac < 0.5


def test_no_preset_has_two_rows_for_an_engine() -> None:
    pairs = [(row.engine, card) for row in fitted_rows() for card in row.cards]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("card", ["h100", "l4", "mi300x"])
def test_an_engine_can_stand_behind_every_preset(card: str, engine: str) -> None:
    found = find_hardware(f"{card}-{engine}")
    assert found.name == f"{card}-{engine}"
    assert found.memory_bytes == find_hardware(card).memory_bytes
    assert found.spread_frac == efficiencies_of(card, engine).p90_frac


def test_presets_without_an_engine_are_as_they_were() -> None:
    card = find_hardware("h100")
    assert (card.mfu_frac, card.mbu_frac, card.corner_power, card.activation_mbu_frac) == (
        0.68,
        0.8,
        None,
        None,
    )


def test_a_preset_without_measurements_has_the_generic_constants() -> None:
    assert efficiencies_of("l4", "trtllm").engine == "generic"
    generic = efficiencies_of("", "generic").constants()
    assert generic == {name: pytest.approx(value, abs=2e-3) for name, value in generic_efficiencies().items()}


def test_slower_clocks_make_launches_longer() -> None:
    assert find_hardware("a100-vllm").overhead_per_layer_s > find_hardware("h100-vllm").overhead_per_layer_s


def test_an_unknown_engine_is_told() -> None:
    with pytest.raises(ConfigError, match="unknown 'h100-vlm'"):
        find_hardware("h100-vlm")
    with pytest.raises(ConfigError, match="engine: 'vlm' is not one of"):
        efficiencies_of("h100", "vlm")
