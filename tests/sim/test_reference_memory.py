"""What can never run, preemption and shedding in the reference engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qtheory.basics.errors import PlanError
from qtheory.system.workload.request import Requests
from sim.policies import (
    VICTIMS,
    Chunked,
    EarliestDeadline,
    FirstChunk,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Priority,
    Shedding,
)
from sim.record import Status
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep

ROOMY = Replica(step_time=ConstantStep(1.0), n_blocks=1000)


def requests(arrival, prompt, output, **columns):
    return Requests(arrival_s=arrival, prompt_tokens=prompt, output_tokens=output, **columns)


def test_outputs_stop_at_the_longest_sequence_of_the_model():
    records = simulate(
        requests([0, 0], [30, 10], [50, 5]), Policy(name="x"), replace(ROOMY, max_model_len_tokens=40)
    )
    assert records.requests.output_tokens.tolist() == [10, 5]
    assert records.finish_s.tolist() == [10, 5]


@pytest.mark.parametrize(
    ("policy", "replica", "prompt", "output"),
    [
        (Policy(name="x"), replace(ROOMY, max_model_len_tokens=40), 40, 1),
        (Policy(name="x"), replace(ROOMY, n_blocks=69), 1000, 106),
        (Policy(name="x", composition=PrefillFirst(), budget_tokens=60), ROOMY, 61, 1),
        (Policy(name="x", composition=Chunked(whole_prompts=True), budget_tokens=60), ROOMY, 61, 1),
        (Policy(name="x", watermark_frac=0.1, watermark_scope="always"), replace(ROOMY, n_blocks=10), 145, 1),
        (Policy(name="x", append_rule="conservative", budget_tokens=8), replace(ROOMY, n_blocks=2), 32, 1),
    ],
    ids=["model length", "pool", "whole prompt", "uncut prompt", "watermark", "conservative"],
)
def test_what_can_never_run_is_turned_away_on_arrival(policy, replica, prompt, output):
    asked = requests([0.25, 0.5], [prompt, 5], [output, 1])
    records = simulate(asked, policy, replica)
    assert records.status.tolist() == [Status.REJECTED, Status.FINISHED]
    assert records.finish_s[0] == 0.25


def test_the_largest_request_that_fits_is_served():
    records = simulate(requests([0], [1000], [105]), Policy(name="x"), replace(ROOMY, n_blocks=69))
    assert records.status.tolist() == [Status.FINISHED]
    assert not records.n_preemptions.any()


def test_a_request_that_waits_for_ever_is_named():
    policy = Policy(name="mine", on_unfit="wait")
    with pytest.raises(
        PlanError, match=r"'mine': nothing runs and request 1 waits for ever: 7 blocks are needed"
    ):
        simulate(requests([0, 1], [5, 100], [1, 1]), policy, replace(ROOMY, n_blocks=6))


def test_jobs_that_throw_each_other_out_without_end_are_found():
    policy = Policy(name="mine", on_unfit="wait", admission=FirstChunk(), budget_tokens=8)
    with pytest.raises(PlanError, match="request 0 goes in and out of memory without end"):
        simulate(requests([0], [60], [1]), policy, replace(ROOMY, n_blocks=3))


def test_a_preempted_job_that_has_outgrown_the_budget_for_whole_prompts_is_cut():
    policy = Policy(name="x", composition=PrefillFirst(), budget_tokens=32)
    tight = replace(ROOMY, n_blocks=5)
    records = simulate(requests([0, 0], [32, 30], [30, 5]), policy, tight)
    assert records.status.tolist() == [Status.FINISHED, Status.FINISHED]
    policy = replace(policy, victim=VICTIMS["lowest_priority"])
    asked = requests([0, 0], [32, 30], [30, 5], priority=[1, 0])
    records = simulate(asked, policy, tight)
    assert records.n_preemptions.tolist() == [1, 0]
    assert records.status.tolist() == [Status.FINISHED, Status.FINISHED]


def test_swap_without_room_on_the_host_recomputes():
    policy = Policy(name="x", preemption="swap", budget_tokens=100)
    asked = requests([0, 0.5], [79, 80], [4, 2])
    moved = simulate(asked, policy, replace(ROOMY, n_blocks=10, n_swap_blocks=5))
    stays = simulate(asked, policy, replace(ROOMY, n_blocks=10, n_swap_blocks=4))
    assert moved.recomputed_tokens.tolist() == [0, 0]
    assert stays.recomputed_tokens.tolist() == [0, 80]


def test_moving_blocks_lengthens_the_step_for_everybody():
    policy = Policy(name="x", preemption="swap", budget_tokens=100)
    asked = requests([0, 0.5], [79, 80], [4, 2])
    slow = replace(ROOMY, n_blocks=10, n_swap_blocks=5, swap_s_per_block=0.1)
    records = simulate(asked, policy, slow)
    seconds = records.steps.end_s - records.steps.start_s
    assert seconds.tolist() == pytest.approx([1, 1, 1.5, 1, 1.5])


def test_an_important_arrival_evicts_no_more_than_it_needs_and_nobody_in_vain():
    policy = Policy(
        name="x", ordering=Priority(), victim=VICTIMS["lowest_priority"], priority_preempt="on_arrival"
    )
    small = replace(ROOMY, n_blocks=8)
    asked = requests([0, 0, 0, 1], [30, 30, 30, 48], [9] * 4, priority=[1, 9, 5, 0])
    records = simulate(asked, policy, small, until_s=2)
    assert records.n_preemptions.tolist() == [0, 1, 0, 0]  # 3 needed, 2 free: the least important goes
    asked = requests([0, 0, 0, 1], [30, 30, 30, 110], [9] * 4, priority=[0, 9, 0, 0])
    records = simulate(asked, policy, small, until_s=2)
    assert records.n_preemptions.tolist() == [0, 0, 0, 0]  # 7 needed, at most 4 to be had


def test_the_last_job_that_does_not_fit_is_aborted_under_whole_batch_retraction():
    policy = Policy(
        name="x", composition=PrefillFirstChunked(), victim=VICTIMS["fewest_output"], on_unfit="wait"
    )
    records = simulate(requests([0], [32], [9]), policy, replace(ROOMY, n_blocks=2))
    assert records.status.tolist() == [Status.ABORTED]
    assert records.finish_s.tolist() == [1.0]


def test_lateness_is_judged_by_the_step_times_of_the_remaining_chunks():
    step = AffineStep(base_s=0.1, per_token_s=0.01)
    policy = Policy(name="slo", ordering=EarliestDeadline(), shed=Shedding("reject"), budget_tokens=50)
    alone_s = (0.1 + 0.5) + (0.1 + 0.5) + (0.1 + 0.2)  # 120 tokens in chunks of 50
    asked = requests([0, 0], [120, 120], [1, 1], ttft_slo_s=[alone_s, alone_s - 1e-6])
    records = simulate(asked, policy, replace(ROOMY, step_time=step))
    assert records.status.tolist() == [Status.FINISHED, Status.SHED]
    assert records.first_token_s[0] == pytest.approx(alone_s)
    assert records.finish_s[1] == 0.0


def test_a_demoted_request_is_overtaken_by_later_ones_for_good():
    policy = Policy(
        name="slo", ordering=EarliestDeadline(), shed=Shedding("demote"), budget_tokens=50, max_seqs=1
    )
    asked = requests([0, 0, 1.5], [50, 50, 50], [2, 1, 1], ttft_slo_s=[1, 1, 90])
    records = simulate(asked, policy, ROOMY)
    assert records.first_scheduled_s.tolist() == [0, 3, 2]
