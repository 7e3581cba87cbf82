"""Pieces of a batch that runs to its end: how many fit, and what its steps take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from qtheory.predict._round_room import Room
from qtheory.predict._round_steps import RoundSteps
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import Engine, engine_of
from qtheory.system.workload import PairLengths
from tests.qtheory.predict.worlds import world


def _engine(prompts: list[int], outputs: list[int], **changes: object) -> Engine:
    replica, workload = world(hardware="a100", scheduler="static", kv_blocks=100_000, **changes)
    pairs = PairLengths(prompt_tokens=np.array(prompts), output_tokens=np.array(outputs))
    return engine_of(replica, demand_of(replace(workload, lengths=pairs)))


def test_short_and_long_prompts_fit_as_often_as_the_binomial_law_says() -> None:
    engine = replace(_engine([200, 200, 200, 1400], [1, 1, 1, 1], model="llama-3.1-8b"), budget_tokens=8_000)
    found = Room(engine).fits
    k = np.arange(1, len(found) + 1)
    long_head = 1400 / 2000  # in proportion to its length
    n_long = {first: np.floor((8_000 - first - 200 * (k - 1)) / 1200) for first in (200, 1400)}
    exact = (1 - long_head) * binom.cdf(n_long[200], k - 1, 0.25) + long_head * binom.cdf(
        n_long[1400], k - 1, 0.25
    )
    assert found == pytest.approx(np.append(1.0, np.asarray(exact)[1:]), abs=1e-7)


def test_steps_of_experts_are_taken_over_the_law_of_who_is_left() -> None:
    engine = _engine([1000, 1000], [100, 900], model="qwen3-30b-a3b")
    steps = RoundSteps(engine, np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 25, 31]))
    at = int(np.searchsorted(steps.places, 50.0))
    whole = np.ones_like(steps.places)
    seconds = [steps.mean_s(n * whole, whole)[at] for n in range(27)]
    for left in (0.1, 0.3, 0.5, 0.9):
        exact = float(binom.pmf(np.arange(27), 26, left) @ seconds)
        found = steps.mean_s(26.0 * whole, left * whole)[at]
        assert found == pytest.approx(exact, rel=1e-3)  # at the mean number 0.1 to 1 % more


def test_the_time_up_to_a_place_is_the_sum_of_the_steps() -> None:
    steps = RoundSteps(_engine([1000, 1000], [100, 900], model="llama-3.1-8b"), np.array([1.0, 2.0]))
    each = 1.0 - steps.places / 1000
    exact = [sum(1.0 - j / 1000 for j in range(1, int(place) + 1)) for place in steps.places]
    assert steps.up_to(each) == pytest.approx(exact, rel=1e-9, abs=1e-12)
