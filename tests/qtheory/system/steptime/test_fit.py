"""Efficiencies from measured steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.hardware.fitted import shaped
from qtheory.system.models import find_model
from qtheory.system.steptime import FRACTIONS, OVERHEADS, Roofline, StepLoad, ideal_steps
from qtheory.system.steptime.fit import fit_steps

LOADS = [
    StepLoad(n_decodes=n, decode_context_tokens=n * context, n_sampled=n)
    for n in (1, 4, 16, 64, 256)
    for context in (100, 1000, 8000)
] + [
    StepLoad(
        n_decodes=n,
        decode_context_tokens=n * 700,
        prefill_tokens=chunk,
        prefill_work=chunk * (chunk + 1) / 2,
        prefill_context_tokens=chunk,
        n_sampled=n + 1,
    )
    for n in (0, 16, 64)
    for chunk in (32, 256, 2048, 16384)
]


@pytest.mark.parametrize("card", ["h100", "a100-vllm", "rtx4090-vllm"])
@pytest.mark.parametrize(("model", "tp"), [("llama-3.1-8b", 1), ("qwen3-30b-a3b", 1), ("gpt-oss-20b", 1)])
def test_parts_at_peak_rates_add_up_to_the_roofline(card: str, model: str, tp: int) -> None:
    hardware, spec = find_hardware(card), find_model(model)
    roofline = Roofline(hardware=hardware, model=spec, tp=tp)
    own = {name: getattr(hardware, name) for name in (*FRACTIONS, *OVERHEADS)}
    made = ideal_steps(hardware, spec, LOADS, tp=tp).seconds(**own)
    assert made == pytest.approx([roofline.step_s(load) for load in LOADS], rel=1e-9)
    for load in LOADS[::5]:
        parts = roofline.parts(load)
        assert sum(seconds for seconds, _ in parts.values()) == pytest.approx(roofline.step_s(load))


def test_planted_efficiencies_are_found_within_their_intervals() -> None:
    planted = {"mfu_frac": 0.61, "mbu_frac": 0.77, "attention_mbu_frac": 0.69, "overhead_per_step_s": 2e-3}
    card = replace(shaped(find_hardware("h100")), **planted)  # type: ignore[arg-type]
    model = find_model("llama-3.1-8b")
    roofline = Roofline(hardware=card, model=model)
    noise = np.exp(0.03 * np.random.default_rng(5).standard_normal(len(LOADS)))
    seconds = noise * [roofline.step_s(load) for load in LOADS]
    held = {"overhead_per_layer_s": card.overhead_per_layer_s}
    fit = fit_steps(ideal_steps(card, model, LOADS), seconds, held=held)
    for name, value in planted.items():
        assert abs(fit.values[name] - value) < 4 * fit.errors[name]
        assert fit.errors[name] < 0.5 * value
    assert fit.unclear == ()
    assert 0.01 < fit.median_frac < 0.03


def test_what_the_steps_do_not_show_is_held_or_called_unclear() -> None:
    card, model = shaped(find_hardware("h100")), find_model("llama-3.1-8b")
    few = [load for load in LOADS if load.prefill_tokens == 0 and load.n_decodes < 64]
    seconds = [Roofline(hardware=card, model=model).step_s(load) for load in few]
    noise = np.exp(0.02 * np.random.default_rng(1).standard_normal(len(few)))
    fit = fit_steps(ideal_steps(card, model, few), noise * seconds)
    assert {"link_frac", "overhead_per_layer_s"} <= set(fit.held)
    assert "mfu_frac" in fit.unclear  # nothing here computes long enough


@pytest.mark.parametrize("capped", [False, True])
def test_steps_faster_than_the_accelerator_are_refused_unless_capped(capped: bool) -> None:
    card, model = shaped(find_hardware("h100")), find_model("llama-3.1-8b")
    ideal = ideal_steps(card, model, LOADS)
    best = dict.fromkeys(FRACTIONS, 1.0) | dict.fromkeys(OVERHEADS, 0.0)
    seconds = 0.5 * ideal.seconds(**best)
    if capped:
        assert max(fit_steps(ideal, seconds, capped=True).values[name] for name in FRACTIONS) <= 1
    else:
        with pytest.raises(ConfigError, match="less time than at the peak"):
            fit_steps(ideal, seconds)


def test_too_few_steps_and_impossible_times_are_refused() -> None:
    card, model = find_hardware("h100"), find_model("llama-3.1-8b")
    two = ideal_steps(card, model, LOADS[:2])
    with pytest.raises(ConfigError, match="2 steps cannot tell"):
        fit_steps(two, [0.01, 0.02])
    with pytest.raises(ConfigError, match="a time > 0"):
        fit_steps(two, [0.01, 0.0])
    with pytest.raises(ConfigError, match="of two accelerators"):
        two.joined_with(ideal_steps(shaped(card), model, LOADS[:2]))
