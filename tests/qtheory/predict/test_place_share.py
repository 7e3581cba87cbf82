"""What is waited for at the limit, from the budget alone to places alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.predict import limit_rps, predict
from qtheory.predict._models import prepared
from qtheory.predict._place_share import place_share
from qtheory.predict.limits import Rule, limit_of
from tests.qtheory.predict.worlds import world

CHAT = {"hardware": "rtx3050", "model": "llama-3.2-1b", "workload": "chat", "scheduler": "sjf"}


@pytest.mark.parametrize("is_memory", [False, True])
def test_from_the_budget_alone_to_places_alone(is_memory: bool) -> None:
    replica, workload = world(**CHAT)
    engine = prepared(replica, workload, None)[1].engine
    demand = engine.demand
    n = demand.mean_decode * engine.budget_tokens / (demand.mean_prompt + demand.mean_decode)
    most = np.array([n / 8, 0.8 * n, n, 1.25 * n, 8 * n])
    engines = [
        replace(engine, max_seqs=10**6, kv_tokens=places * demand.mean_context)
        if is_memory
        else replace(engine, max_seqs=int(places), kv_tokens=1e9)
        for places in most
    ]
    shares = [place_share(each) for each in engines]
    assert np.all(np.diff(shares) < 0)
    assert shares[0] == pytest.approx(1.0, abs=1e-3)
    assert shares[2] == pytest.approx(0.5, abs=0.1)
    assert shares[-1] == pytest.approx(0.0, abs=1e-3)
    binds = [limit_of(each, Rule(mixed=True)).binds for each in engines]
    assert binds[0] == ("KV memory" if is_memory else "slots")
    assert binds[-1] == "token budget"


def test_nobody_decodes_and_nobody_waits_for_a_place() -> None:
    replica, workload = world(**CHAT | {"output": "constant(1)"})
    assert place_share(prepared(replica, workload, None)[1].engine) == 0.0


def test_nothing_jumps_where_fewer_lengths_are_served_and_another_limit_binds() -> None:
    replica, workload = world(
        hardware="h100", model="qwen2.5-14b", workload="rag", kv_blocks=8128, scheduler="sjf"
    )
    limit = limit_rps(replica, workload)
    nearer, above = (predict(replica, workload, rate_rps=load * limit) for load in (1.001, 1.02))
    assert above.goodput_frac < nearer.goodput_frac
    assert above.ttft_good_frac == pytest.approx(nearer.ttft_good_frac, abs=0.01)
