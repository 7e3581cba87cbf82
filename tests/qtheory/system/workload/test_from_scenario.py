"""Workloads from scenarios: what is taken from the profile, what contradicts what."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Lognormal
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload import (
    ClosedLoop,
    LawLengths,
    PairLengths,
    PoissonArrivals,
    Replay,
    find_profile,
    workload_of,
)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0.0,10,1\n1.0,20,2\n4.0,30,3\n")
    return str(path)


def test_a_bare_scenario_is_a_minute_of_the_default_profile():
    workload, chat = workload_of(Scenario()), find_profile("chat")
    assert workload.lengths is chat.lengths
    assert workload.slo == chat.slo
    assert workload.offered_rps == chat.rate_rps
    assert (workload.duration_s, workload.n_requests) == (60.0, None)


def test_what_the_scenario_says_wins():
    workload = workload_of(
        Scenario(workload="rag", rate_rps=3.0, requests=50, client_cap=9, ttft_slo_s=1.0, tpot_slo_s=math.inf)
    )
    assert workload.offered_rps == 3.0
    assert (workload.duration_s, workload.n_requests) == (None, 50)
    assert workload.arrivals == PoissonArrivals(client_cap=9)
    assert workload.slo == Slo(ttft_s=1.0)


def test_laws_replace_the_lengths_and_are_independent_unless_told():
    lengths = workload_of(Scenario(prompt="lognormal(mean=1000,cv=0.8)", output="64")).lengths
    assert lengths == LawLengths(prompt=Lognormal(mean=1000, cv=0.8), output=Constant(value=64))
    alone = workload_of(Scenario(prompt="gamma(mean=500,cv=1)", correlation=0.3)).lengths
    assert alone.rank_correlation == 0.3
    assert alone.mean_output_tokens == pytest.approx(find_profile("chat").lengths.mean_output_tokens)


def test_a_correlation_alone_joins_the_lengths_of_the_profile_anew():
    lengths = workload_of(Scenario(workload="rag", correlation=-0.5)).lengths
    assert (lengths.prompt, lengths.rank_correlation) == (find_profile("rag").lengths.prompt, -0.5)


def test_lengths_come_from_a_file(tmp_path):
    path = tmp_path / "lengths.csv"
    path.write_text("input_tokens,output_tokens\n100,5\n20,1\n")
    lengths = workload_of(Scenario(lengths=str(path))).lengths
    assert lengths == PairLengths(prompt_tokens=[100, 20], output_tokens=[5, 1])


def test_a_trace_is_replayed_with_the_limits_of_the_profile(trace):
    workload = workload_of(Scenario(trace=trace, speed=2.0, client_cap=5))
    assert workload.arrivals == Replay(speed=2.0, client_cap=5)
    assert workload.slo == find_profile("chat").slo
    requests = workload.generate(np.random.default_rng(0))
    assert requests.arrival_s.tolist() == [0.0, 0.5, 2.0]
    assert len(workload_of(Scenario(trace=trace, duration_s=2.0)).generate(np.random.default_rng(0))) == 2


def test_a_rate_given_with_a_trace_sets_its_speed(trace):
    workload = workload_of(Scenario(trace=trace, rate_rps=5.0))
    assert workload.arrivals == Replay(speed=10.0)
    assert workload.offered_rps == pytest.approx(5.0)


def test_a_closed_loop_takes_requests():
    workload = workload_of(Scenario(arrivals="closed(64)", requests=200))
    assert workload.arrivals == ClosedLoop(concurrency=64)
    assert (workload.client_cap, workload.n_requests) == (64, 200)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"workload": "cht"}, "did you mean 'chat'"),
        ({"speed": 2.0}, "speed: 2 given without a trace"),
        ({"ticks": "even"}, "ticks: 'even' given without a trace"),
        ({"ticks": "evn"}, "ticks: unknown 'evn' (did you mean 'even'?)"),
        (
            {"rate_rps": 1e-300, "requests": 5},
            "rate_rps: 1e-300 makes the arrivals last 5e+300 s; at most 1e+09",
        ),
        ({"rate_rps": 5e-324, "requests": 5}, "rate_rps: 4.94066e-324 makes the arrivals last inf s"),
        ({"duration_s": 2e9, "rate_rps": 1e-3}, "duration_s: 2e+09 makes the arrivals last 2e+09 s"),
        (
            {"arrivals": "closed(8, think_s=1e300)", "requests": 9},
            "think_s: 1e+300 is too large; at most 1e+09",
        ),
        (
            {"arrivals": "closed(1, think_s=1e9)", "requests": 9},
            "arrivals: 'closed(concurrency=1, think_s=100000",
        ),
        ({"prompt": "1e12"}, "prompt: constant(value=1000000000000) has a mean of 1e+12 tokens; at most"),
        ({"prompt": "x" * 5000}, "xxx...; one of constant"),
        ({"trace": "x" * 5000}, "xxx: cannot be read (File name too long)"),
        ({"trace": "\ud800"}, "half a character"),
        ({"arrivals": "replay"}, "needs a trace"),
        ({"arrivals": "closed(8)"}, "requests: needed with closed"),
        ({"arrivals": "closed(8)", "requests": 9, "rate_rps": 2.0}, "rate_rps: 2 given, but closed"),
        ({"arrivals": "closed(8)", "requests": 9, "client_cap": 4}, "client_cap: 4 given, but closed"),
        ({"requests": 9, "duration_s": 4.0}, "give one of the two"),
        ({"prompt": "lognorml(mean=1)"}, "prompt: unknown law 'lognorml'"),
        ({"lengths": "none.csv"}, "none.csv"),
        ({"lengths": "none.csv", "output": "64"}, "output: '64' given together with lengths"),
        ({"correlation": 2.0}, "correlation: 2 is outside what is allowed, -1 .. 1"),
    ],
)
def test_contradictions_in_a_scenario_are_refused(fields, message):
    with pytest.raises(ConfigError) as caught:
        workload_of(Scenario(**fields))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt": "64"}, "prompt: '64' given together with a trace"),
        ({"arrivals": "gamma(cv=2)"}, "arrivals: 'gamma(cv=2)' given together with a trace"),
        ({"rate_rps": 2.0, "speed": 3.0}, "rate_rps=2, speed=3: give one of the two"),
        ({"speed": 1e-300}, "speed: 1e-300 makes the arrivals last 4e+300 s; at most 1e+09 s"),
        ({"speed": 1e-9}, "speed: 1e-09 makes the arrivals last 4e+09 s"),
        ({"rate_rps": 1e-300}, "rate_rps: 1e-300 makes the arrivals last 3e+300 s"),
        ({"ticks": "evn"}, "ticks: unknown 'evn'"),
    ],
)
def test_a_trace_brings_its_own_times_and_lengths(trace, fields, message):
    with pytest.raises(ConfigError) as caught:
        workload_of(Scenario(trace=trace, **fields))
    assert message in str(caught.value)


@pytest.mark.shared
def test_the_azure_trace_is_a_workload_of_19366_requests(shared):
    path = shared / "data" / "traces" / "azure_llm_2023_conv.csv"
    workload = workload_of(Scenario(trace=str(path)))
    requests = workload.generate(np.random.default_rng(0))
    assert len(requests) == 19_366
    assert workload.offered_rps == pytest.approx(19_365 / 3501.721937, rel=1e-9)
    assert workload.lengths.mean_prompt_tokens == pytest.approx(1154.697, abs=1e-3)


def test_a_trace_recorded_in_ticks_is_spread(tmp_path):
    path = tmp_path / "ticks.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n" + "0,9,9\n" * 2 + "3,9,9\n" * 2)
    as_it_is, even = (workload_of(Scenario(trace=str(path), ticks=how)) for how in ("recorded", "even"))
    assert as_it_is.trace.arrival_s.tolist() == [0.0, 0.0, 3.0, 3.0]
    assert even.trace.arrival_s.tolist() == [0.0, 1.5, 3.0, 4.5]
    first, second = (
        workload_of(Scenario(trace=str(path), ticks="random", seed=seed)).trace.arrival_s.tolist()
        for seed in (1, 2)
    )
    assert first != second


def test_a_slow_replay_may_be_cut_short(trace):
    workload = workload_of(Scenario(trace=trace, speed=1e-300, duration_s=5.0))
    assert workload.generate(np.random.default_rng(0)).arrival_s.tolist() == [0.0]
