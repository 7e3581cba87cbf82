"""Shortest outputs first: what each length of outputs waits for."""

from __future__ import annotations

import pytest

from qtheory.predict._by_length import groups_of
from qtheory.predict._first_token import first_token
from qtheory.predict._kinds import Kinds
from qtheory.predict._models import prepared
from qtheory.predict._outputs import Waits
from qtheory.predict._settled import settled
from qtheory.predict._sjf import limit
from qtheory.predict._steps import Rule
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "rtx3050", "model": "llama-3.2-1b", "workload": "chat", "scheduler": "sjf"}


def test_who_waits_for_a_place_fills_no_step() -> None:
    replica, workload = world(**CHAT, max_seqs=8)
    setting = prepared(replica, workload, None)[1]
    engine, found = setting.engine, limit(setting)
    backlog = settled(engine, Rule(mixed=True), 0.7 * found.rate_rps)
    waits = Waits(Kinds(backlog, first_token(backlog)), found)
    _, weights, prompts = groups_of(engine.demand)
    work = weights * prompts / (weights @ prompts)
    filled = waits.overtaken * waits.found.ahead_tokens
    assert filled.max() < 0.5 * waits.found.ahead_tokens  # most of whom wait for places
    assert work @ filled == pytest.approx(
        0.0, abs=0.02 * waits.found.ahead_tokens
    )  # overtakes or is overtaken
