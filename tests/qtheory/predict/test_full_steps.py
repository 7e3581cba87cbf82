"""Steps that spend the budget: how their lengths vary, and what that makes of decode times."""

from __future__ import annotations

import numpy as np
import pytest

from qtheory.predict import predict
from qtheory.predict._backlog import Backlog
from qtheory.predict._first_token import first_token
from qtheory.predict._full_steps import FullSteps, depth_varied
from qtheory.predict._models import prepared
from qtheory.predict._numeric import decoded
from qtheory.predict._settled import settled
from qtheory.predict._steps import Rule
from tests.qtheory.predict.worlds import world

RAG = {
    "hardware": "l40s",
    "model": "qwen2.5-14b",
    "workload": "rag",
    "scheduler": "sjf",
    "budget_tokens": 512,
}
RATE_RPS = 1.58  # nine tenths of what is served


def chain() -> Backlog:
    replica, workload = world(**RAG)
    return settled(prepared(replica, workload, None)[1].engine, Rule(mixed=True), RATE_RPS)


@pytest.mark.parametrize(("workload", "tokens"), [("rag", 20_000), ("code", 4_000), ("code", 60_000)])
def test_depths_of_prompts_one_after_the_other_vary_as_those_of_drawn_ones(
    workload: str, tokens: int
) -> None:
    replica, asked = world(**RAG | {"workload": workload})
    demand = prepared(replica, asked, None)[1].engine.demand
    rng = np.random.default_rng(1)
    prompts = rng.choice(demand.prompt_tokens, 4_000, p=demand.prompt_probs).astype(int)
    depths = np.concatenate([np.arange(1, each + 1) for each in prompts])
    means = depths[: len(depths) // tokens * tokens].reshape(-1, tokens).mean(axis=1)
    assert depth_varied(demand, np.array([float(tokens)]))[0] == pytest.approx(means.std(), rel=0.12)


def test_atoms_spread_about_the_same_means() -> None:
    backlog = chain()
    full = FullSteps(backlog)
    decode, factor = decoded(backlog, first_token(backlog))
    found = full.always(decode, full.mean_s)
    per_step_s = found.seconds / found.steps[:, None]
    mass = found.mass[:, :, 1:]
    means = (per_step_s[:, :, 1:] * mass).sum(axis=2) / mass.sum(axis=2)
    assert means == pytest.approx(full.mean_s, rel=1e-9)
    assert np.all(np.diff(per_step_s[:, :, 1:], axis=2) > 0)
    spread = (per_step_s[:, :, -1] - per_step_s[:, :, 1]).mean(axis=0)
    assert np.all(np.diff(spread) < 0)  # over many steps less is left of it
    bounded = full.bounded(decode, factor)
    assert bounded.seconds[:, :, 0] == pytest.approx(decode.seconds[:, :, 0])
    beyond_s = 3 * full.varied_s(decode.steps) + full.mean_s
    assert np.all(bounded.seconds * factor <= (beyond_s * decode.steps)[:, None])


def test_the_slowest_outputs_are_those_of_a_simulation() -> None:
    """Four runs of 150,000 requests: 0.0732 and 0.0753 s; all steps alike are 0.0708 s."""
    replica, workload = world(**RAG)
    point = predict(replica, workload, rate_rps=RATE_RPS)
    assert point.p90_tpot_s == pytest.approx(0.0732, rel=0.02)
    assert point.p99_tpot_s == pytest.approx(0.0753, rel=0.02)
