"""A scenario: defaults, ranges, help, and what of it has to be said."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario

OPTIONAL = [item.name for item in fields(Scenario) if item.default is None]


def test_every_field_has_a_help_that_names_its_default_rule() -> None:
    for item in fields(Scenario):
        assert item.metadata["help"], item.name
    silent = [name for name in OPTIONAL if "[" not in Scenario.__dataclass_fields__[name].metadata["help"]]
    assert set(silent) <= {"requests", "trace"}  # what is not said, is not used


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tp", 0),
        ("tp", 1.0),
        ("tp", None),
        ("max_seqs", -1),
        ("block_tokens", True),
        ("budget_tokens", 0),
        ("max_model_len_tokens", 0),
        ("kv_blocks", 0),
        ("requests", 2.5),
        ("client_cap", -1),
        ("seed", -1),
        ("seed", None),
        ("long_prefill_threshold_tokens", -1),
        ("speed", 0),
        ("speed", None),
        ("rate_rps", math.inf),
        ("duration_s", -1.0),
        ("stop_s", 0.0),
        ("overhead_per_step_s", -1e-3),
        ("overhead_per_layer_s", math.nan),
        ("watermark_frac", -0.1),
        ("mfu_frac", 1.1),
        ("mbu_frac", 0.0),
        ("memory_frac", None),
        ("ttft_slo_s", 0.0),
        ("tpot_slo_s", -math.inf),
        ("e2e_slo_s", math.nan),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(field: str, value: object) -> None:
    changed: dict[str, Any] = {field: value}
    with pytest.raises(ConfigError, match=f"^{field}: "):
        Scenario(**changed)


def test_limits_may_be_switched_off_and_counts_may_be_none() -> None:
    scenario = Scenario(ttft_slo_s=math.inf, client_cap=0, long_prefill_threshold_tokens=0, watermark_frac=0)
    assert scenario.ttft_slo_s == math.inf


def test_what_has_changed_is_all_that_has_to_be_said() -> None:
    assert Scenario().changed() == {}
    scenario = Scenario(hardware="h100", rate_rps=2.5, seed=0, ttft_slo_s=math.inf)
    assert scenario.changed() == {"hardware": "h100", "rate_rps": 2.5, "ttft_slo_s": math.inf}
    assert Scenario(**scenario.changed()) == scenario
    assert replace(scenario, hardware="a100").changed().keys() == {"rate_rps", "ttft_slo_s"}
