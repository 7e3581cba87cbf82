"""Formulas at random settings, most of them far from the usual ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.predict import Prediction, limit_rps, sweep
from qtheory.predict._percentiles import LEVELS
from tests.qtheory.predict.worlds import world

CARDS = [
    ("a100", "llama-3.1-8b"),
    ("l4", "llama-3.2-1b"),
    ("h100", "qwen3-30b-a3b"),
    ("rtx3050", "llama-3.2-1b"),
]
ARRIVALS = ["poisson", "gamma(cv=2)", "gamma(cv=5)", "gamma(cv=0.5)"]
LOADS = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99])
MEANS = ("mean_ttft_s", "mean_e2e_s")
RISING = (*MEANS, "p50_ttft_s", "p90_ttft_s", "p99_ttft_s")
_ROUGH = 0.01  # by which formulas that are joined may be lower at a higher load


def _law(rng: np.random.Generator, mean: float) -> str:
    laws = (
        f"constant({mean:.0f})",
        f"exponential(mean={mean:.0f})",
        f"gamma(mean={mean:.0f}, cv={rng.choice([0.3, 2.0, 5.0])})",
    )
    return laws[rng.integers(len(laws))]


def _drawn(rng: np.random.Generator) -> dict[str, Any]:
    hardware, model = CARDS[rng.integers(len(CARDS))]
    prompt, output = np.round(10 ** rng.uniform([1.3, 0.5], [3.7, 3.2]))
    found: dict[str, Any] = {"hardware": hardware, "model": model, "arrivals": ARRIVALS[rng.integers(4)]}
    found |= {"prompt": _law(rng, prompt), "output": _law(rng, output), "ttft_slo_s": 2.0, "tpot_slo_s": 0.1}
    found["max_seqs"] = int(rng.choice([1, 4, 32, 128, 512]))
    if rng.random() < 0.5:
        found["kv_blocks"] = int((prompt + output) / 16 * rng.uniform(4, 60)) + 20
    if rng.random() < 0.5:
        found["budget_tokens"] = int(rng.choice([128, 512, 2048, 8192]))
    return found


def _check(points: list[Prediction], rising: tuple[str, ...]) -> None:
    for point in points:
        numbers = [value for value in point.row().values() if isinstance(value, float)]
        assert np.all(np.isfinite(numbers))
        for name in ("ttft", "tpot", "itl", "e2e"):
            times = [getattr(point, f"{key}_{name}_s") for key in LEVELS]
            assert times == sorted(times)
    for name in rising:
        for before, after in pairwise(getattr(point, name) for point in points):
            assert after >= before * (1 - _ROUGH), name


def _check_goodput(points: list[Prediction]) -> None:
    for before, after in pairwise(point.goodput_frac for point in points):
        assert after <= before + _ROUGH


@pytest.mark.parametrize("n_settings", [8, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scheduler", ["fcfs", "chunked", "orca"])
def test_times_are_finite_in_order_and_grow_with_the_load(scheduler: str, n_settings: int) -> None:
    rng, refused = np.random.default_rng(3), 0
    for _ in range(n_settings):
        asked = _drawn(rng)
        try:
            replica, workload = world(**asked, scheduler=scheduler)
            limit = limit_rps(replica, workload)
        except ConfigError:  # prompts that no step or memory holds
            refused += 1
            continue
        points = sweep(replica, workload, (LOADS * limit).tolist())
        _check(points, MEANS if scheduler == "fcfs" else RISING)
        if scheduler != "fcfs":  # whose time per token is no law of parts of prompts
            _check_goodput(points)
    assert refused <= n_settings // 4


def test_who_serves_hardly_any_prompt_is_refused() -> None:
    asked = world(hardware="a100", model="llama-3.1-8b", workload="chat", scheduler="fcfs", budget_tokens=128)
    with pytest.raises(ConfigError, match="97% of the prompts have more than 128 tokens and are rejected"):
        sweep(*asked, [0.5])
