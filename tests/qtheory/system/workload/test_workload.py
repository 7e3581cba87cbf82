"""Workloads: seeds, common random numbers, windows, closed loops, replay."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Lognormal
from qtheory.system.slo import Slo
from qtheory.system.workload import (
    ClosedLoop,
    ConstantArrivals,
    GammaArrivals,
    LawLengths,
    PoissonArrivals,
    Replay,
    Requests,
    Workload,
    find_profile,
)

FIXED = LawLengths(prompt=Constant(value=192), output=Constant(value=64))
VARIED = LawLengths(prompt=Lognormal(mean=1000, cv=1), output=Lognormal(mean=200, cv=0.8))
TRACE = Requests(
    arrival_s=[5.0, 5.5, 8.0, 9.0],
    prompt_tokens=[10, 20, 30, 40],
    output_tokens=[1, 2, 3, 4],
    priority=[0, 1, 0, 1],
    client=[7, 7, 8, 9],
)


def generate(workload: Workload, seed: int = 0) -> Requests:
    return workload.generate(np.random.default_rng(seed))


def columns(requests: Requests) -> list[bytes | None]:
    return [None if (c := getattr(requests, f.name)) is None else c.tobytes() for f in fields(requests)]


WORKLOADS = [
    Workload(name="a", lengths=VARIED, rate_rps=4.0, duration_s=50.0),
    Workload(name="b", lengths=VARIED, arrivals=GammaArrivals(cv=2.0), rate_rps=4.0, n_requests=100),
    Workload(name="c", lengths=VARIED, arrivals=ClosedLoop(concurrency=8), n_requests=100),
    Workload.from_trace(TRACE),
    find_profile("chat").workload(duration_s=20.0),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: w.name)
def test_equal_seeds_give_equal_bytes(workload):
    assert columns(generate(workload, 3)) == columns(generate(workload, 3))
    if workload.trace is None:
        assert columns(generate(workload, 3)) != columns(generate(workload, 4))


def test_at_another_rate_the_same_requests_come_closer_together():
    base = Workload(name="x", lengths=VARIED, rate_rps=2.0, duration_s=100.0)
    slow, fast = generate(base), generate(base.at_rate(8.0))
    n = len(slow)
    assert len(fast) > n
    assert fast.prompt_tokens[:n].tolist() == slow.prompt_tokens.tolist()
    assert fast.output_tokens[:n].tolist() == slow.output_tokens.tolist()
    assert fast.arrival_s[:n] == pytest.approx(slow.arrival_s / 4.0, rel=1e-15)


def test_other_arrivals_leave_the_lengths_alone():
    base = Workload(name="x", lengths=VARIED, rate_rps=2.0, n_requests=50)
    other = replace(base, arrivals=ConstantArrivals())
    assert generate(base).prompt_tokens.tolist() == generate(other).prompt_tokens.tolist()


def test_a_window_holds_the_expected_number_of_requests():
    workload = Workload(name="x", lengths=FIXED, rate_rps=5.0, duration_s=2000.0)
    requests = generate(workload)
    assert requests.arrival_s[-1] < 2000.0
    assert abs(len(requests) - 10_000) <= 4 * math.sqrt(10_000)


def test_a_closed_loop_has_everything_ready_at_the_start():
    loop = ClosedLoop(concurrency=8, think_s=0.25)
    workload = Workload(name="x", lengths=FIXED, arrivals=loop, n_requests=20)
    assert generate(workload).arrival_s.tolist() == [0.0] * 20
    assert (workload.client_cap, workload.think_s, workload.offered_rps) == (8, 0.25, math.inf)


def test_first_token_limits_reach_deadline_schedulers():
    workload = Workload(name="x", lengths=FIXED, rate_rps=1.0, n_requests=3, slo=Slo(ttft_s=2.0))
    assert generate(workload).ttft_slo_s.tolist() == [2.0] * 3
    own = Requests(arrival_s=[0.0], prompt_tokens=[1], output_tokens=[1], ttft_slo_s=[0.5])
    assert generate(Workload.from_trace(own, slo=Slo(ttft_s=2.0))).ttft_slo_s.tolist() == [0.5]
    assert generate(replace(workload, slo=Slo())).ttft_slo_s is None


def test_a_replay_starts_at_zero_and_speed_divides_its_times():
    requests = generate(Workload.from_trace(TRACE, speed=2.0))
    assert requests.arrival_s.tolist() == [0.0, 0.25, 1.5, 2.0]
    assert requests.client.tolist() == [7, 7, 8, 9]
    assert requests.priority.tolist() == [0, 1, 0, 1]


def test_a_replay_can_be_cut_by_time_or_number():
    whole = Workload.from_trace(TRACE)
    assert len(generate(replace(whole, duration_s=3.0))) == 2
    assert generate(replace(whole, n_requests=3)).prompt_tokens.tolist() == [10, 20, 30]
    with pytest.raises(ConfigError, match="requests: 5 is more than the 4 of the trace"):
        generate(replace(whole, n_requests=5))


def test_the_rate_of_a_trace_is_that_of_its_gaps_and_can_be_changed():
    workload = Workload.from_trace(TRACE)
    assert workload.offered_rps == pytest.approx(3 / 4.0)
    faster = workload.at_rate(3.0)
    assert faster.arrivals == Replay(speed=4.0)
    assert generate(faster).arrival_s[-1] == pytest.approx(1.0)
    assert workload.lengths.mean_prompt_tokens == 25.0


def test_a_cap_of_the_client_belongs_to_the_arrivals():
    workload = Workload(name="x", lengths=FIXED, arrivals=PoissonArrivals(client_cap=440), rate_rps=1.0)
    assert workload.client_cap == 440
    assert workload.think_s == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate_rps": None}, "rate_rps: needed with poisson arrivals"),
        ({"rate_rps": -1.0}, "rate_rps: -1.0 must be > 0"),
        ({"rate_rps": math.nan}, "rate_rps: nan"),
        ({"duration_s": 0.0}, "duration_s: 0.0 must be > 0"),
        ({"n_requests": 0}, "n_requests: 0 must be"),
        ({"n_requests": 5, "duration_s": 1.0}, "give one of the two"),
        ({"arrivals": Replay()}, "trace: needed with replay arrivals"),
        ({"trace": TRACE}, "trace: needed with replay arrivals, and only there"),
        ({"arrivals": ClosedLoop(concurrency=2), "duration_s": 5.0}, "a closed loop needs n_requests"),
    ],
)
def test_contradictions_are_refused(changes, message):
    base = {"name": "x", "lengths": FIXED, "rate_rps": 1.0}
    with pytest.raises(ConfigError, match=message):
        Workload(**(base | changes))


def test_a_workload_without_an_end_says_so():
    with pytest.raises(ConfigError, match="workload 'x' needs one of the two"):
        generate(Workload(name="x", lengths=FIXED, rate_rps=1.0))


def test_a_closed_loop_has_no_rate_to_change():
    workload = Workload(name="x", lengths=FIXED, arrivals=ClosedLoop(concurrency=2), n_requests=5)
    with pytest.raises(ConfigError, match="no rate to change"):
        workload.at_rate(3.0)
