"""Loads and rooflines for the tests of step times."""

from __future__ import annotations

from functools import cache

from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model
from qtheory.system.steptime import Roofline, StepLoad

__all__ = ["chunk", "decodes", "roofline"]


@cache
def roofline(
    card: str, model: str, tp: int = 1, weights: str | None = None, kv_dtype: str = "bf16"
) -> Roofline:
    """Step times of presets."""
    return Roofline(
        hardware=find_hardware(card), model=find_model(model), tp=tp, weights=weights, kv_dtype=kv_dtype
    )


def decodes(n: int, context: int) -> StepLoad:
    """``n`` decodes that each attend to ``context`` tokens."""
    return StepLoad(n_decodes=n, decode_context_tokens=n * context, n_sampled=n)


def chunk(cached: int, n: int, *, with_decodes: StepLoad | None = None, last: bool = False) -> StepLoad:
    """``n`` prompt tokens behind ``cached`` ones, perhaps beside decodes, perhaps the end of the prompt."""
    base = with_decodes or StepLoad()
    return base._replace(
        prefill_tokens=n,
        prefill_work=n * cached + n * (n + 1) / 2,
        prefill_context_tokens=cached + n,
        n_sampled=base.n_sampled + last,
    )
