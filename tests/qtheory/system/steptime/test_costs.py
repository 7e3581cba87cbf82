"""What each group of operators costs, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model
from qtheory.system.steptime import Roofline
from tests.qtheory.system.steptime.loads import chunk, decodes, roofline


def test_a_step_is_added_up_by_hand() -> None:
    card = replace(
        find_hardware("a100"),
        mfu_frac=0.5,
        mbu_frac=0.8,
        attention_mbu_frac=0.6,
        overhead_per_step_s=1e-3,
        overhead_per_layer_s=1e-5,
    )
    step = Roofline(hardware=card, model=find_model("llama-3.1-8b"))
    flops_s, weight_s, kv_s = 1 / (312e12 * 0.5), 1 / (2.039e12 * 0.8), 1 / (2.039e12 * 0.6)
    block = 4096 * 4096 * 2 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    load = chunk(1000, 500, with_decodes=decodes(20, 800))
    expected = 1e-3 + 32e-5  # host, launches
    expected += 2 * 32 * block * 520 * flops_s  # compute bound
    expected += 2 * 4096 * 128256 * weight_s  # 20 sampled: reading the head takes longer
    expected += 131072 * 16_000 * kv_s  # decodes read their context
    expected += 4 * 32 * 4096 * (500 * 1000 + 500 * 501 / 2) * flops_s
    assert step.step_s(load) == pytest.approx(expected, rel=1e-12)
    few = decodes(20, 800)
    expected = 1e-3 + 32e-5 + 2 * 32 * block * weight_s + 131072 * 20 * weight_s
    expected += 2 * 4096 * 128256 * weight_s + 131072 * 16_000 * kv_s
    assert step.step_s(few) == pytest.approx(expected, rel=1e-12)


def test_prompt_tokens_ride_free_on_the_weights_that_decodes_read() -> None:
    step = roofline("a100", "llama-3.1-8b")
    alone = step.parts(decodes(16, 1000))["linear"]
    mixed = step.parts(chunk(0, 64, with_decodes=decodes(16, 1000)))["linear"]
    assert mixed[1] == "bandwidth"
    assert mixed[0] == pytest.approx(alone[0], rel=1e-3)  # only the keys and values written differ


def test_a_full_chunk_is_compute_bound_and_a_decode_step_is_not() -> None:
    step = roofline("h100", "llama-3.1-8b")
    assert step.parts(chunk(0, 2048))["linear"][1] == "compute"
    assert step.parts(decodes(32, 1000))["linear"][1] == "bandwidth"
    assert step.parts(decodes(32, 1000))["decode_attention"][1] == "bandwidth"


def test_narrow_weights_are_read_narrow_and_computed_as_the_card_can() -> None:
    few, many = decodes(4, 100), chunk(0, 4096)
    for card, speedup in (("a100", 1.0), ("h100", 1979 / 989)):
        wide, narrow = roofline(card, "llama-3.1-8b"), roofline(card, "llama-3.1-8b", weights="fp8")
        assert wide.parts(few)["linear"][0] / narrow.parts(few)["linear"][0] == pytest.approx(2, rel=1e-3)
        assert wide.parts(many)["linear"][0] / narrow.parts(many)["linear"][0] == pytest.approx(speedup)
        assert wide.parts(few)["head"] == narrow.parts(few)["head"]


def test_a_narrow_cache_halves_the_slope() -> None:
    wide, narrow = roofline("h100", "llama-3.1-8b"), roofline("h100", "llama-3.1-8b", kv_dtype="fp8")
    assert wide.decode_line(8)[1] == pytest.approx(2 * narrow.decode_line(8)[1])  # type: ignore[index]


def test_tensor_parallelism_divides_the_work_and_adds_the_link() -> None:
    one, four = roofline("h100", "llama-3.1-70b"), roofline("h100", "llama-3.1-70b", 4)
    load = chunk(500, 1500, with_decodes=decodes(10, 1000))
    for part in ("linear", "head", "decode_attention", "prefill_attention"):
        assert one.parts(load)[part][0] == pytest.approx(4 * four.parts(load)[part][0])
    sent = (
        2 * 80 * 1510 * 8192 * 2 * 2 * 3 / 4
    )  # bytes each card sends: all-reduces, tokens, width, bf16, ring
    assert four.parts(load)["link"][0] == pytest.approx(sent / (450e9 * four.hardware.link_frac))
    assert four.parts(load)["overhead"][0] - one.parts(load)["overhead"][0] == pytest.approx(160 * 5e-6)
    assert one.flops(load) == four.flops(load)
    assert one.bytes(load) == four.bytes(load)


def test_more_accelerators_than_heads_of_keys_hold_copies() -> None:
    four, eight = roofline("a100", "qwen3-30b-a3b", 4), roofline("a100", "qwen3-30b-a3b", 8)
    assert four.decode_line(8)[1] == pytest.approx(eight.decode_line(8)[1])  # type: ignore[index]
    latent = roofline("h200", "deepseek-v3", 8).model
    assert latent.kv_shards(8) == 1


def test_a_prompt_chunk_expands_the_latents_that_are_cached() -> None:
    step = roofline("h200", "deepseek-v3", 8)
    pairs = 512 * 3000 + 512 * 513 / 2
    work = 61 * (2 * 128 * (192 + 128) * pairs + 2 * 512 * 128 * (128 + 128) * 3000)
    seconds, bound = step.parts(chunk(3000, 512))["prefill_attention"]
    assert bound == "compute"
    assert seconds == pytest.approx(work / (8 * 989e12 * step.hardware.mfu_frac))


def test_copies_of_keys_and_values_are_bytes_moved() -> None:
    one, eight = roofline("h200", "deepseek-v3"), roofline("h200", "deepseek-v3", 8)
    stored = 70272 * (10 * 2000 + 10)  # read by the decodes, and written
    assert eight.bytes(decodes(10, 2000)) - one.bytes(decodes(10, 2000)) == pytest.approx(7 * stored)


def test_bytes_of_local_layers_stop_at_their_window() -> None:
    step = roofline("h100", "gpt-oss-20b")
    near = step.bytes(decodes(8, 128)) - step.bytes(decodes(8, 64))
    assert step.bytes(decodes(8, 192)) - step.bytes(decodes(8, 128)) == pytest.approx(near / 2)
    assert step.flops(decodes(8, 1128)) - step.flops(decodes(8, 128)) == 12 * 4 * 64 * 64 * 8 * 1000


def test_local_layers_stop_at_their_window() -> None:
    step = roofline("h100", "gpt-oss-20b")
    near, far = (step.step_s(decodes(8, context)) for context in (64, 128))
    further = step.step_s(decodes(8, 192))
    assert further - far == pytest.approx((far - near) / 2)  # 12 of 24 layers see more
    work = step.parts(chunk(10_000, 512))["prefill_attention"][0]
    every = replace(step.model, local_layers=0)
    full = Roofline(hardware=step.hardware, model=every).parts(chunk(10_000, 512))["prefill_attention"][0]
    assert work == pytest.approx(full * (12 + 12 * 128 / 10_256.5) / 24)


def test_sparse_attention_stops_at_its_selection() -> None:
    step = roofline("b200", "deepseek-v3.2", 8)
    assert step.step_s(decodes(8, 2048)) == step.step_s(decodes(8, 50_000))
    assert step.step_s(decodes(8, 1024)) < step.step_s(decodes(8, 2048))


def test_one_token_reads_its_experts_and_many_read_all() -> None:
    step = roofline("h100", "mixtral-8x7b", 2)
    expert_bytes = 32 * 3 * 4096 * 14336 * 2
    read_s = expert_bytes / (2 * 3.35e12 * step.hardware.mbu_frac)
    for n, experts in ((1, 2), (64, 8)):
        seconds, bound = step.parts(decodes(n, 10))["experts"]
        assert bound == "bandwidth"
        assert seconds == pytest.approx(experts * read_s, rel=1e-6)


def test_recurrent_state_is_read_and_written_by_every_decode() -> None:
    step = roofline("b200", "qwen3.5-27b")
    state = 2 * step.model.state_bytes
    two = decodes(2, 1)
    grown = step.parts(two)["decode_attention"][0] - step.parts(decodes(1, 1))["decode_attention"][0]
    assert grown == pytest.approx(state / (8e12 * 0.8), rel=1e-2)
    assert step.bytes(two) - step.bytes(decodes(1, 1)) == pytest.approx(state, rel=1e-2)
