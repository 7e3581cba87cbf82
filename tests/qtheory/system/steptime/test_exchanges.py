"""All-reduces in exchanges, against those that were measured, and by hand."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest

from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model
from qtheory.system.steptime import Roofline
from tests.qtheory.system.steptime.loads import chunk, decodes

MODEL = find_model("llama-3.1-70b")
CARD = replace(find_hardware("h100"), link_frac=0.7464)  # of vLLM in fitted.csv
MEASURED = {
    4: {8: 5.8, 16: 7.2, 32: 11.4, 64: 12.8, 128: 18.6, 256: 30.2},
    8: {8: 7.9, 16: 10.8, 32: 12.0, 64: 15.0, 128: 19.4, 256: 30.8},
}
"""Microseconds of the kernel of vLLM 0.24, by tokens of 8,192 numbers (aiconfigurator 0.12.0, Apache-2.0)."""


def _each_s(tp: int, n: int, exchange_s: float | None) -> float:
    """Seconds of one all-reduce of ``n`` tokens."""
    step = Roofline(hardware=replace(CARD, exchange_s=exchange_s), model=MODEL, tp=tp)
    return step.parts(decodes(n, 10))["link"][0] / (2 * MODEL.layers)


@pytest.mark.parametrize("tp", MEASURED)
def test_measured_all_reduces_are_met(tp: int) -> None:
    errors = [abs(1e6 * _each_s(tp, n, 4.8e-6) / us - 1) for n, us in MEASURED[tp].items()]
    assert median(errors) < 0.06
    assert max(errors) < 0.18


def test_whole_messages_go_in_one_exchange_while_they_are_small() -> None:
    message_s = 2 * 8192 / (450e9 * 0.7464)  # one token over the link
    assert _each_s(4, 4, 5e-6) == pytest.approx(5e-6 + 3 * 4 * message_s)
    assert _each_s(4, 400, 5e-6) == pytest.approx(10e-6 + 1.5 * 400 * message_s)
    assert _each_s(2, 400, 5e-6) == pytest.approx(5e-6 + 400 * message_s)  # two cards: parts save nothing


def test_parts_add_up_and_exchanges_that_take_no_time_are_a_ring_without_latency() -> None:
    load = chunk(100, 300, with_decodes=decodes(20, 800))
    step = Roofline(hardware=replace(CARD, exchange_s=5e-6), model=MODEL, tp=4)
    assert sum(seconds for seconds, _ in step.parts(load).values()) == pytest.approx(step.step_s(load))
    at_once = replace(step, hardware=replace(CARD, exchange_s=0.0))
    ring = replace(step, hardware=replace(CARD, link_latency_s=0.0))
    assert at_once.step_s(load) == pytest.approx(ring.step_s(load))
