"""Prompts side by side as vLLM 0.2.3 pads them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import Policy
from sim.replica import Replica
from sim.testing import ConstantStep
from validation.claims._distserve_served import script_arrivals_s
from validation.claims._padded_prompts import PaddedPrompts


def _asked(arrival_s: list[float], prompts: list[int], outputs: list[int]) -> Requests:
    return Requests(
        arrival_s=np.array(arrival_s), prompt_tokens=np.array(prompts), output_tokens=np.array(outputs)
    )


@pytest.mark.parametrize(
    ("prompts", "steps"),
    [([300, 300, 300], [1, 1, 1]), ([300, 44, 299], [1, 1, 2]), ([300, 43, 300], [1, 2, 3])],
)
def test_prompts_of_unequal_lengths_follow_each_other(prompts: list[int], steps: list[int]) -> None:
    asked = _asked([0.0] * 3, prompts, [1] * 3)
    policy = Policy(name="padded", composition=PaddedPrompts(), budget_tokens=2048)
    records = engine.simulate(asked, policy, Replica(step_time=ConstantStep(1.0), n_blocks=999))
    assert records.first_token_s.tolist() == steps


def test_decodes_stand_still_while_prompts_come() -> None:
    asked = _asked([0.0, 0.5, 0.5], [10, 900, 300], [2, 1, 1])
    policy = Policy(name="padded", composition=PaddedPrompts(), budget_tokens=2048)
    held = Replica(step_time=ConstantStep(1.0), n_blocks=999)
    assert engine.simulate(asked, policy, held).finish_s[0] == 4.0
    together = replace(policy, composition=PaddedPrompts(most_empty_tokens=600))
    assert engine.simulate(asked, together, held).finish_s[0] == 3.0


def test_gaps_of_a_client_are_the_same_at_every_rate() -> None:
    one, four = script_arrivals_s(1.0, 100), script_arrivals_s(4.0, 100)
    assert one[0] == 0.0
    assert four * 4 == pytest.approx(one)
    assert one[-1] == pytest.approx(91.86, abs=0.01)  # 100 requests of a mean of 1 s that come in less
