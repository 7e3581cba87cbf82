"""A run is fast, or says why it is not: every scheduler with every option, replicas, pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import CHOICES, SCHEDULERS
from sim._stepper import Stepper
from validation import answer
from validation.answer import Study

SMALL = Scenario(hardware="rtx3050", rate_rps=4.0, requests=3, workload="rag", tpot_slo_s=0.1)
NUMBERS: dict[str, tuple[Any, ...]] = {
    "budget_tokens": (16,),
    "max_seqs": (600,),
    "max_queue": (4,),
    "max_skip": (2,),
    "sharing_tokens": (16, 24),
    "long_prefill_threshold_tokens": (64,),
    "watermark_frac": (0.1,),
    "starvation_limit_s": (1.0,),
    "prompt_weight": (2.0,),
    "output_weight": (2.0,),
    "chunked_prefill": ("true", "false"),
}


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Stepper]:
    """Replicas that were visited step by step."""
    found: list[Stepper] = []
    begin = Stepper.__init__

    def note(self: Stepper, *args: Any, **more: Any) -> None:
        found.append(self)
        begin(self, *args, **more)

    monkeypatch.setattr(Stepper, "__init__", note)
    return found


def _why(scenario: Scenario, begun: list[Stepper]) -> str | None:
    """What the line says; it must say something if and only if steps were visited."""
    begun.clear()
    run = answer.run(scenario, study=Study(n_replications=1))
    assert (run.stepwise is not None) == bool(begun), (scenario.scheduler, run.stepwise)
    return run.stepwise


def _with_options(name: str) -> Iterator[str]:
    yield name
    for option, values in (CHOICES | NUMBERS).items():
        for value in values:
            yield f"{name}({option}={value})"


@pytest.mark.parametrize("prefix_cache", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_with_every_option_is_fast_or_says_why(
    name: str, prefix_cache: bool, begun: list[Stepper]
) -> None:
    reasons = {}
    for scheduler in _with_options(name):
        try:
            asked = replace(SMALL, scheduler=scheduler, prefix_cache=prefix_cache)
            reasons[scheduler] = _why(asked, begun)
        except ConfigError:  # an option of others
            continue
    assert reasons[f"{name}(long_prefill_threshold_tokens=64)"] is not None
    assert reasons[f"{name}(watermark_frac=0.1)"] is None or name == "disaggregated"


@pytest.mark.parametrize("router", ["round_robin", "least_requests"])
def test_replicas_are_fast_or_say_why(router: str, begun: list[Stepper]) -> None:
    two = replace(SMALL, replicas=2, router=router)
    assert _why(replace(two, scheduler="sglang", prefix_cache=True), begun) is None
    skips = replace(two, scheduler="sglang(in_batch=skip)")
    assert _why(replace(skips, prefix_cache=False), begun) is None
    assert _why(replace(skips, prefix_cache=True), begun) == "in_batch=skip"


def test_pools_are_fast_or_say_why(begun: list[Stepper]) -> None:
    apart = replace(SMALL, scheduler="disaggregated", requests=8)
    assert _why(apart, begun) is None
    assert _why(replace(apart, decode_replicas=2), begun) is None
    assert _why(replace(apart, client_cap=2), begun) is None
    short = replace(apart, rate_rps=100.0, kv_blocks=100, workload="chat")
    assert _why(short, begun) is None
    layers = replace(apart, layerwise_transfer=True)
    assert _why(layers, begun) == "prefill and decode apart: layers sent one by one"
    by_tokens = replace(apart, prefill_replicas=2, router="least_tokens")
    assert _why(by_tokens, begun) == "prefill and decode apart: router"
