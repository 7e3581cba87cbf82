"""Policies of one's own in the reference engine, and its internal checks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from qtheory.basics.errors import PlanError, ServingError
from qtheory.system.workload.request import Requests
from sim._audit import audit_job, audit_run
from sim.job import Job
from sim.policies import Chunked, Mixed, Policy, PrefillFirst, PrefillFirstChunked, Static
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import ConstantStep

ROOMY = Replica(step_time=ConstantStep(1.0), n_blocks=1000)


def requests(arrival, prompt, output, **columns):
    return Requests(arrival_s=arrival, prompt_tokens=prompt, output_tokens=output, **columns)


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
    assert seen == [(0.0, 0, 0, 1000), (1.0, 1, 0, 998), (2.0, 0, 0, 1000)]


@pytest.mark.parametrize("composition", [Chunked(), Mixed(), PrefillFirst(), PrefillFirstChunked(), Static()])
def test_a_batch_of_equal_requests_ends_together(composition):
    asked = requests([0] * 4, [10] * 4, [3] * 4)
    records = simulate(asked, Policy(name="x", composition=composition), ROOMY)
    assert set(records.finish_s.tolist()) == {3.0}


def test_a_static_batch_lets_nobody_in_until_it_is_done():
    asked = requests([0, 0, 0.5], [10] * 3, [2, 5, 1])
    records = simulate(asked, Policy(name="static", composition=Static()), ROOMY)
    assert records.first_scheduled_s.tolist() == [0, 0, 5]


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
