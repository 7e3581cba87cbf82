"""The check of a step."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import PlanError
from qtheory.system.workload.request import Requests
from sim.job import Job
from sim.plan import check_plan

JOBS = [Job.of(row, 0.0) for row in Requests(arrival_s=[0, 0], prompt_tokens=[10, 20], output_tokens=[1, 1])]


def test_a_step_within_its_limits_passes():
    check_plan("mine", {JOBS[0]: 10, JOBS[1]: 6}, JOBS, budget_tokens=16, max_seqs=2)


@pytest.mark.parametrize(
    ("tokens", "limits", "message"),
    [
        ({0: 10, 1: 7}, {"budget_tokens": 16, "max_seqs": 2}, "17 tokens in a step, but budget_tokens=16"),
        ({0: 1}, {"budget_tokens": 16, "max_seqs": 1}, "2 running jobs, but max_seqs=1"),
        ({0: 11}, {"budget_tokens": 16, "max_seqs": 2}, "request 0 is to compute 11 tokens, but misses 10"),
        ({1: 0}, {"budget_tokens": 16, "max_seqs": 2}, "request 1 is to compute 0 tokens, but misses 20"),
    ],
)
def test_a_broken_limit_names_policy_job_and_limit(tokens, limits, message):
    with pytest.raises(PlanError, match=f"policy 'mine': {message}"):
        check_plan("mine", {JOBS[row]: n for row, n in tokens.items()}, JOBS, **limits)
