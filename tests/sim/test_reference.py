"""Single behaviours of the reference engine, each with its figures by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError, PlanError, ServingError
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests
from sim._audit import audit_job, audit_run
from sim.job import Job
from sim.policies import (
    VICTIMS,
    Chunked,
    EarliestDeadline,
    FirstChunk,
    Mixed,
    Policy,
    PrefillFirst,
    PrefillFirstChunked,
    Priority,
    Shedding,
    Static,
)
from sim.record import Status
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep, ConstantStep

ROOMY = Replica(step_time=ConstantStep(1.0), n_blocks=1000)


def requests(arrival, prompt, output, **columns):
    return Requests(arrival_s=arrival, prompt_tokens=prompt, output_tokens=output, **columns)


# ---- the client and the clock


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


# ---- what a step computes


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


# ---- what can never run


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


# ---- preemption


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


# ---- shedding


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


# ---- policies of one's own


@dataclass(frozen=True)
class _ShortestFirst:
    """A person's own composition: decodes, then the shortest waiting prompts, whole."""

    whole_prompts = True

    def fill(self, view, plan):
        plan.continue_running()
        for job in sorted(view.waiting, key=lambda job: job.prompt_tokens):
            if not plan.admit(job, whole=True):
                break


def test_a_composition_of_ones_own_is_a_few_lines():
    asked = requests([0, 0, 0], [30, 20, 10], [1, 1, 1])
    records = simulate(asked, Policy(name="mine", composition=_ShortestFirst(), budget_tokens=30), ROOMY)
    assert records.first_scheduled_s.tolist() == [1, 0, 0]


@dataclass(frozen=True)
class _Runs:
    whole_prompts = False
    what: str

    def fill(self, view, plan):
        for job in view.waiting:
            if self.what == "waiting":
                plan.run(job)
            plan.admit(job)
            if self.what == "twice":
                plan.run(job)
        if self.what == "foreign":
            plan.admit("job 7")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("waiting", "'mine': request 0 is to run, but is not running"),
        ("twice", "'mine': request 0 is to run twice in one step"),
        ("foreign", "'mine': 'job 7' is not a job of this replica"),
    ],
)
def test_an_impossible_plan_names_policy_and_job(what, message):
    with pytest.raises(PlanError, match=message):
        simulate(requests([0], [5], [3]), Policy(name="mine", composition=_Runs(what)), ROOMY)


@dataclass(frozen=True)
class _Idle:
    whole_prompts = False

    def fill(self, view, plan):
        pass


def test_a_policy_that_never_starts_anything_is_an_error():
    with pytest.raises(PlanError, match="request 0 waits for ever"):
        simulate(requests([0], [5], [1]), Policy(name="idle", composition=_Idle()), ROOMY)


@dataclass(frozen=True)
class _Looks:
    whole_prompts = False
    seen: list

    def fill(self, view, plan):
        self.seen.append((view.now_s, len(view.running), view.n_swapped, view.n_free_blocks))
        plan.continue_running()
        for job in view.waiting:
            assert not hasattr(job, "output_tokens")  # the truth stays with the clock
            assert view.cached_tokens(job) == 0
            plan.admit(job)
        assert plan.budget_left_tokens >= 0


def test_a_view_shows_the_replica_before_the_step():
    seen = []
    simulate(requests([0, 0.5], [20, 20], [2, 1]), Policy(name="x", composition=_Looks(seen)), ROOMY)
    assert seen == [(0.0, 0, 0, 1000), (1.0, 1, 0, 998), (2.0, 0, 0, 1000)][: len(seen)]
    assert len(seen) >= 2


@pytest.mark.parametrize("composition", [Chunked(), Mixed(), PrefillFirst(), PrefillFirstChunked(), Static()])
def test_a_batch_of_equal_requests_ends_together(composition):
    asked = requests([0] * 4, [10] * 4, [3] * 4)
    records = simulate(asked, Policy(name="x", composition=composition), ROOMY)
    assert set(records.finish_s.tolist()) == {3.0}


def test_a_static_batch_lets_nobody_in_until_it_is_done():
    asked = requests([0, 0, 0.5], [10] * 3, [2, 5, 1])
    records = simulate(asked, Policy(name="static", composition=Static()), ROOMY)
    assert records.first_scheduled_s.tolist() == [0, 0, 5]


# ---- the internal checks


def test_a_wrong_count_of_computed_tokens_is_found():
    job = Job.of(requests([0], [5], [1]).row(0), 0.0)
    job.known_tokens, job.total_computed_tokens = 6, 4
    with pytest.raises(ServingError, match="request 0 computed 4 tokens, not 5"):
        audit_job(job)


class _Fake:
    """Just enough of a log and a state for the audit."""

    n_step_tokens = n_job_tokens = 10
    sent_s, finish_s = (0.0, 1.0, math.nan), (4.0, math.nan, math.nan)
    running = ()
    memory = replica = None
    n_free = n_blocks = 3

    def __init__(self):
        self.memory = self.replica = self


def test_the_audit_accepts_a_sound_run_and_finds_each_loss():
    log = _Fake()
    audit_run(log, log, area_s=4 + 5, end_s=6.0)
    with pytest.raises(ServingError, match="sojourns sum to 9 s"):
        audit_run(log, log, area_s=8.0, end_s=6.0)
    log.n_job_tokens = 9
    with pytest.raises(ServingError, match="steps computed 10 tokens, jobs 9"):
        audit_run(log, log, area_s=9.0, end_s=6.0)
    log.n_job_tokens, log.n_free = 10, 2
    with pytest.raises(ServingError, match="2 blocks are free and 0 held, of 3"):
        audit_run(log, log, area_s=9.0, end_s=6.0)
