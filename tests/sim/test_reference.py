"""The clock, the client and the loads of the reference engine, each with its figures by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from sim.policies import Policy
from sim.record import Status
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep

ROOMY = Replica(step_time=ConstantStep(1.0), n_blocks=1000)


def requests(arrival, prompt, output, **columns):
    return Requests(arrival_s=arrival, prompt_tokens=prompt, output_tokens=output, **columns)


def test_a_client_cap_holds_requests_back_until_a_place_is_free():
    asked = requests([0, 0, 0, 9], [5] * 4, [2, 4, 1, 1])
    records = simulate(asked, Policy(name="x"), ROOMY, client_cap=2, think_s=0.5)
    assert records.sent_s.tolist() == [0, 0, 2.5, 9]  # the first place is free at 2, the second at 4
    assert records.first_scheduled_s.tolist() == [0, 0, 3, 9]
    assert records.finish_s.tolist() == [2, 4, 4, 10]


def test_a_closed_loop_never_has_more_inside_than_its_cap():
    n = 40
    asked = requests(np.zeros(n), [5] * n, [1 + row % 7 for row in range(n)])
    records = simulate(asked, Policy(name="x", max_seqs=2), ROOMY, client_cap=3)
    moments = np.concatenate([records.sent_s, records.finish_s])
    change = np.concatenate([np.ones(n), -np.ones(n)])
    order = np.lexsort((change, moments))  # at one moment, leave first
    assert np.cumsum(change[order]).max() == 3


def test_a_rejected_request_gives_its_place_back_at_once():
    asked = requests([0, 0, 0], [5, 99, 5], [2, 1, 1])
    tiny = replace(ROOMY, n_blocks=2)
    records = simulate(asked, Policy(name="x"), tiny, client_cap=1)
    assert records.status.tolist() == [Status.FINISHED, Status.REJECTED, Status.FINISHED]
    assert records.sent_s.tolist() == [0, 2, 2]


def test_the_clock_stops_where_it_is_told():
    asked = requests([0, 0, 5], [5] * 3, [2, 9, 1])
    records = simulate(asked, Policy(name="x"), ROOMY, until_s=3.5)
    assert records.status.tolist() == [Status.FINISHED, Status.UNFINISHED, Status.UNFINISHED]
    assert records.end_s == 3.5
    assert records.steps.end_s.tolist() == [1, 2, 3]
    assert math.isnan(records.sent_s[2])
    assert math.isnan(records.finish_s[1])


def test_an_arrival_during_a_step_waits_for_its_end():
    records = simulate(requests([0, 3.3], [5, 5], [9, 1]), Policy(name="x"), ROOMY)
    assert records.first_scheduled_s[1] == 4.0
    assert records.first_token_s[1] == 5.0


def test_rounding_in_the_clock_does_not_make_an_arrival_late():
    step = ConstantStep(0.1)
    end_s = 0.1 + 0.1 + 0.1  # a little more than 0.3
    records = simulate(requests([0, 0.3], [5, 5], [9, 1]), Policy(name="x"), replace(ROOMY, step_time=step))
    assert records.first_scheduled_s[1] == end_s
    ahead = simulate(
        requests([0, 0.3 + 1e-10], [5, 5], [9, 1]), Policy(name="x"), replace(ROOMY, step_time=step)
    )
    assert ahead.first_scheduled_s[1] == 0.3 + 1e-10


@pytest.mark.parametrize(
    ("option", "value"), [("client_cap", -1), ("think_s", -0.5), ("until_s", 0.0), ("until_s", math.nan)]
)
def test_impossible_arguments_are_refused_by_name(option, value):
    with pytest.raises(ConfigError, match=option):
        simulate(requests([0], [5], [1]), Policy(name="x"), ROOMY, **{option: value})


@dataclass(frozen=True)
class _Broken(ConstantStep):
    answer: float = 0.0

    def step_s(self, load):
        return self.answer


@pytest.mark.parametrize("answer", [0.0, -1.0, math.nan, math.inf])
def test_a_step_must_take_a_time(answer):
    with pytest.raises(ConfigError, match="step_time"):
        simulate(requests([0], [5], [1]), Policy(name="x"), replace(ROOMY, step_time=_Broken(1.0, answer)))


def test_no_requests_give_empty_records():
    records = simulate(requests([], [], []), Policy(name="x"), ROOMY)
    assert len(records.status) == 0
    assert records.end_s == 0
    assert len(records.steps.start_s) == 0


def test_the_load_of_a_step_counts_contexts_chunk_by_chunk():
    asked = requests([0, 0.5], [10, 50], [9, 1])
    records = simulate(asked, Policy(name="x", budget_tokens=20), ROOMY)
    steps = records.steps
    assert steps.prefill_tokens.tolist()[:4] == [10, 19, 19, 12]
    assert steps.n_decodes.tolist()[:4] == [0, 1, 1, 1]
    assert steps.decode_context_tokens.tolist()[:4] == [0, 11, 12, 13]
    assert steps.prefill_context_tokens.tolist()[:4] == [10, 19, 38, 50]
    assert steps.prefill_work.tolist()[:4] == [55, 190, 19 * 19 + 190, 12 * 38 + 78]
    assert steps.n_sampled.tolist()[:4] == [1, 1, 1, 2]


def test_the_seconds_of_a_step_follow_from_its_load():
    step = AffineStep(base_s=0.5, per_token_s=0.01, per_context_token_s=0.001, per_work_s=1e-4)
    records = simulate(requests([0, 0], [30, 7], [5, 3]), Policy(name="x"), replace(ROOMY, step_time=step))
    steps = records.steps
    expected = [
        step.step_s(StepLoad(*load))
        for load in zip(
            steps.n_decodes,
            steps.decode_context_tokens,
            steps.prefill_tokens,
            steps.prefill_work,
            strict=True,
        )
    ]
    assert (steps.end_s - steps.start_s).tolist() == pytest.approx(expected)


def test_queues_and_memory_are_those_after_the_pass():
    asked = requests([0, 0, 0], [20, 20, 20], [2, 2, 2])
    records = simulate(asked, Policy(name="x", max_seqs=2), replace(ROOMY, n_blocks=10))
    assert records.steps.n_running.tolist() == [2, 2, 1, 1]
    assert records.steps.n_waiting.tolist() == [1, 1, 0, 0]
    assert records.steps.used_blocks.tolist() == [4, 4, 2, 2]


def test_gaps_are_counted_by_step_and_keep_the_stall_of_a_preemption():
    asked = requests([0, 0.5], [79, 80], [4, 2])
    records = simulate(asked, Policy(name="x", budget_tokens=100), replace(ROOMY, n_blocks=10))
    gap_s, n_tokens = records.gaps.expand()
    assert sorted(zip(gap_s.tolist(), n_tokens.tolist(), strict=True)) == [(1, 1), (1, 1), (1, 1), (3, 1)]
    assert records.n_preemptions.tolist() == [0, 1]
    assert records.recomputed_tokens.tolist() == [0, 80]
