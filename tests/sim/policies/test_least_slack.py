"""Least slack first: what a prompt needs alone is taken off its deadline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import EarliestDeadline, LeastSlack, make_policy
from sim.replica import Replica
from sim.testing import AffineStep
from tests.sim.policies.views import CacheView


def test_the_deadline_that_comes_later_goes_first_if_its_prompt_leaves_less_time() -> None:
    view = CacheView([], [[1] * 6, [2]])
    long, short = (
        replace(job, deadline_s=deadline_s) for job, deadline_s in zip(view.jobs(), (10.0, 9.0), strict=True)
    )
    assert list(LeastSlack().arrange([short, long], view, None)) == [long, short]  # slacks 4 and 8
    assert sorted([long, short], key=EarliestDeadline().key) == [short, long]


def test_what_is_cached_leaves_more_time() -> None:
    text = [1, 2, 3, 4, 5, 6]
    first, second = CacheView([], [text, text[::-1]]).jobs()
    jobs = [replace(job, deadline_s=20.0) for job in (first, second)]
    assert [job.position for job in LeastSlack().arrange(jobs, CacheView([], [text, text[::-1]]), None)] == [
        0,
        1,
    ]
    cached = CacheView([text], [text, text[::-1]])
    assert [job.position for job in LeastSlack().arrange(jobs, cached, None)] == [1, 0]


def test_who_has_no_deadline_goes_last_in_order_of_arrival() -> None:
    view = CacheView([], [[1], [2], [3]])
    jobs = [
        replace(job, deadline_s=deadline_s)
        for job, deadline_s in zip(view.jobs(), (np.inf, np.inf, 5.0), strict=True)
    ]
    assert [job.position for job in LeastSlack().arrange(jobs, view, None)] == [2, 0, 1]


def test_a_scheduler_takes_the_order_by_name() -> None:
    """One at a time: 6 s of work due at 7.5 s, and 1 s of work due at 7.2 s."""
    requests = Requests(
        arrival_s=[0.0, 0.0], prompt_tokens=[60, 10], output_tokens=[1, 1], ttft_slo_s=[7.5, 7.2]
    )
    step_time = AffineStep(base_s=1e-9, per_token_s=0.1, per_context_token_s=0.0, per_work_s=0.0)
    replica = Replica(step_time=step_time, n_blocks=100)

    def started_s(order: str | None) -> list[float]:
        spec = SchedulerSpec(name="slo", deadline_order=order, max_seqs=1, budget_tokens=100)
        records = engine.simulate(requests, make_policy(spec), replica)
        return list(np.round(records.first_scheduled_s, 6))

    assert started_s("least_slack") == [0.0, 6.0]
    assert started_s("edf") == started_s(None) == [1.0, 0.0]
