"""A scenario: defaults, ranges, help, and what of it has to be said."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import SCHEDULERS
from qtheory.system.workload import ARRIVAL_FORMS
from qtheory.system.workload.readers import TICKS

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
        ("kv_blocks", 10**9 + 1),
        ("max_seqs", 10**30),
        ("budget_tokens", 10**30),
        ("max_model_len_tokens", 10**30),
        ("client_cap", 10**30),
        ("long_prefill_threshold_tokens", 10**400),
        ("tp", 10**30),
        ("block_tokens", 10**30),
        ("requests", 10**8 + 1),
        ("seed", 2**63),
        ("rate_rps", 10**400),
        ("correlation", -math.inf),
        ("correlation", 1.5),
        ("correlation", "x"),
        ("trace", 5),
        ("lengths", 5),
        ("step_time", 5),
        ("step_time", None),
        ("hardware", None),
        ("scheduler", b"fcfs"),
        ("ticks", None),
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


def test_a_number_beyond_any_system_is_refused_with_the_limit() -> None:
    with pytest.raises(ConfigError, match=r"^kv_blocks: 1e[+]30 is too large; at most 1,000,000,000$"):
        Scenario(kv_blocks=10**30)
    assert Scenario(kv_blocks=10**9, requests=10**8, seed=2**63 - 1).requests == 10**8


def test_the_help_of_the_load_names_every_form() -> None:
    said = {item.name: item.metadata["help"] for item in fields(Scenario)}
    forms = ARRIVAL_FORMS.keys() - {"replay"}  # which is what a trace is for
    assert [form for form in forms if form not in said["arrivals"]] == []
    assert "quantiles(" in said["lengths"]
    assert [word for word in ("Azure", "Mooncake", "table", "JSON lines") if word not in said["trace"]] == []
    assert [word for word in TICKS if word not in said["ticks"]] == []
    assert [name for name in SCHEDULERS if name not in said["scheduler"]] == []
