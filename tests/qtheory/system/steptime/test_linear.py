"""Step times on a straight line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import Linear, StepLoad

LINEAR = Linear(base_s=0.01, per_token_s=1e-4, per_context_token_s=1e-6, per_work_s=1e-9)


def test_each_coefficient_multiplies_its_count() -> None:
    load = StepLoad(
        n_decodes=3,
        decode_context_tokens=3000,
        prefill_tokens=100,
        prefill_work=15_050.0,
        prefill_context_tokens=200,
        n_sampled=3,
    )
    assert LINEAR.step_s(load) == pytest.approx(0.01 + 103e-4 + 3200e-6 + 15_050e-9)


@given(st.integers(0, 1000), st.integers(0, 10**7))
def test_the_decode_line_is_exact(n: int, context: int) -> None:
    start, slope = LINEAR.decode_line(n)
    load = StepLoad(n_decodes=n, decode_context_tokens=context, n_sampled=n)
    assert LINEAR.step_s(load) == pytest.approx(start + slope * context)


@pytest.mark.parametrize(
    "change",
    [
        {"base_s": -1.0},
        {"per_token_s": float("nan")},
        {"per_context_token_s": "0"},
        {"per_work_s": float("inf")},
    ],
)
def test_wrong_coefficients_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^{next(iter(change))}: "):
        Linear(**{"base_s": 0.01} | change)


def test_a_step_must_take_time() -> None:
    with pytest.raises(ConfigError, match="must take time"):
        Linear(base_s=0.0)
