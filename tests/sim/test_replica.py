"""A replica: what is refused."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from sim.replica import Replica
from sim.testing import ConstantStep


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"step_time": None}, "step_time: None has no 'step_s'; give a StepTime, such as Roofline or Linear"),
        ({"step_time": 0.02}, "step_time: 0.02 has no 'step_s'"),
        ({"prefix_cache": 1}, "prefix_cache: 1 must be true or false"),
        ({"n_blocks": 0}, "n_blocks: 0 must be a whole number >= 1"),
        ({"swap_s_per_block": -1}, "swap_s_per_block: -1 must be >= 0"),
    ],
)
def test_a_replica_checks_its_fields(wrong: dict[str, object], said: str) -> None:
    fields = {"step_time": ConstantStep(0.02), "n_blocks": 10} | wrong
    with pytest.raises(ConfigError, match=f"^{said}"):
        Replica(**fields)  # type: ignore[arg-type]
