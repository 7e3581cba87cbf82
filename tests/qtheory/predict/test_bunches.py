"""Bunches behind steps of prompts: variances that a queue keeps, and a number that rises in groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from qtheory.predict._phased import phased
from qtheory.predict._pool_decode import _in_groups
from qtheory.predict._round_chain import solve_rounds
from qtheory.predict._round_output import RoundOutput
from qtheory.predict._rounds import Rounds
from qtheory.predict.demand import demand_of
from qtheory.predict.inputs import engine_of
from qtheory.system.workload import GammaArrivals, OpenArrivals, PoissonArrivals
from tests.qtheory.predict.worlds import world

PROMPTS = {
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "kv_blocks": 100_000,
    "scheduler": "static",
    "step_time": "linear(base_s=0.1,per_token_s=0.0001)",
    "prompt": "uniform(low=50,high=150)",
    "output": "constant(1)",
    "max_seqs": 8,
}


def _output(arrivals: OpenArrivals, load: float, burstiness: float) -> RoundOutput:
    replica, workload = world(**PROMPTS)
    rounds = Rounds(engine_of(replica, demand_of(workload)))
    rate_rps = load * rounds.limit_rps
    return RoundOutput(
        solve_rounds(rounds, rate_rps, phased(arrivals, rate_rps, shortest_s=0.11, burstiness=burstiness))
    )


@pytest.mark.parametrize("load", [0.3, 0.8])
@pytest.mark.parametrize("arrivals", [PoissonArrivals(), GammaArrivals(cv=2.0)], ids=str)
def test_over_a_long_time_ends_vary_as_arrivals_do(arrivals: OpenArrivals, load: float) -> None:
    output = _output(arrivals, load, arrivals.scv)
    own_rps = output.chain.own_rate_rps
    assert own_rps == pytest.approx(output.chain.rate_rps, rel=1e-3)
    more = output.mates + 2 * (output.following(0.01) - own_rps / 0.01)
    assert more == pytest.approx(arrivals.scv - 1, abs=0.1 * arrivals.scv)
    assert output.next_sizes.sum(axis=1) == pytest.approx(np.ones(8), abs=1e-6)


def test_within_a_step_nobody_follows_but_those_who_end_with_it() -> None:
    output = _output(PoissonArrivals(), 0.8, 1.0)
    assert output.mates > 2
    assert output.following(100.0) < 0.01  # the next step takes 0.1 s at least


@pytest.mark.parametrize("group", [1.0, 1.7, 4.0])
def test_with_as_many_servers_as_needed_groups_add_to_the_variance_what_they_have_beyond_one(
    group: float,
) -> None:
    k = np.arange(1.0, 400.0)
    law = _in_groups(k / 20.0, group)
    assert law.sum() == pytest.approx(1.0)
    at = np.append(0.0, k)
    mean = float(at @ law)
    assert mean == pytest.approx(20.0, rel=1e-6)
    assert float(at**2 @ law) - mean**2 == pytest.approx(group * mean, rel=1e-6)
    if group == 1:
        assert law == pytest.approx(np.exp(at * np.log(20.0) - 20.0 - gammaln(at + 1)), abs=1e-12)
