"""Policies by name, and their pieces."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SCHEDULERS, SchedulerSpec
from qtheory.system.workload.request import Requests
from sim.job import Job
from sim.policies import (
    Aged,
    Chunked,
    EarliestDeadline,
    Fcfs,
    FewestOutput,
    LastAdmitted,
    LowestPriority,
    Mixed,
    NoEvict,
    Policy,
    PrefillFirst,
    Priority,
    Shedding,
    ShortestOutput,
    Static,
    alone_s,
    make_policy,
    policy_names,
    register,
)
from sim.testing import AffineStep


def jobs(n=3, **columns):
    requests = Requests(arrival_s=range(n), prompt_tokens=[10] * n, output_tokens=[4] * n, **columns)
    return [Job.of(row, row.arrival_s) for row in requests]


def test_every_scheduler_of_this_version_has_a_policy():
    assert set(policy_names()) == set(SCHEDULERS)
    assert all(make_policy(SchedulerSpec(name=name)).name == name for name in SCHEDULERS)


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("fcfs", {"composition": PrefillFirst(), "ordering": Fcfs(), "victim": LastAdmitted()}),
        ("static", {"composition": Static(), "admission": NoEvict()}),
        ("orca", {"composition": Mixed(), "admission": NoEvict()}),
        ("chunked", {"composition": Chunked(), "ordering": Fcfs(), "budget_tokens": 2048, "max_seqs": 128}),
        ("sjf", {"composition": Chunked(), "ordering": ShortestOutput()}),
        ("priority", {"ordering": Priority(), "victim": LowestPriority()}),
        ("slo", {"ordering": EarliestDeadline(), "shed": Shedding("reject")}),
    ],
)
def test_a_name_stands_for_its_pieces(name, pieces):
    policy = make_policy(SchedulerSpec(name=name))
    assert {key: getattr(policy, key) for key in pieces} == pieces


def test_options_win_over_the_defaults_of_a_scheduler():
    policy = make_policy(
        SchedulerSpec(
            name="slo",
            shed="demote",
            victim="fewest_output",
            admission="no_evict",
            budget_tokens=7,
            max_seqs=3,
        )
    )
    assert (policy.shed, policy.victim, policy.admission) == (Shedding("demote"), FewestOutput(), NoEvict())
    assert (policy.budget_tokens, policy.max_seqs) == (7, 3)
    aged = make_policy(SchedulerSpec(name="sjf", starvation_limit_s=5.0)).ordering
    assert aged == Aged(inner=ShortestOutput(), limit_s=5.0)
    assert make_policy(SchedulerSpec(name="chunked", chunked_prefill=False)).composition.whole_prompts


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("chunked", "starvation_limit_s", 5.0),
        ("fcfs", "chunked_prefill", True),
        ("slo", "starvation_limit_s", 1.0),
    ],
)
def test_an_option_that_a_scheduler_would_ignore_is_refused(name, option, value):
    with pytest.raises(ConfigError, match=f"{option}: scheduler '{name}' does not have this option"):
        make_policy(SchedulerSpec(name=name, **{option: value}))


def test_a_name_is_registered_once():
    with pytest.raises(ConfigError, match="'fcfs' is registered already"):
        register("fcfs")(lambda spec: Policy(name="fcfs"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget_tokens": 0},
        {"max_seqs": 0},
        {"long_prefill_threshold_tokens": -1},
        {"watermark_frac": 1.0},
        {"preemption": "swop"},
        {"on_unfit": "never"},
        {"ordering": Chunked()},
        {"ordering": None},
        {"composition": Fcfs()},
        {"admission": None},
        {"victim": "last_admitted"},
        {"victim": None},
        {"shed": "reject"},
        {"needs_oracle": 1},
        {"name": None},
    ],
)
def test_a_policy_checks_its_fields(wrong):
    with pytest.raises(ConfigError, match=f"^{next(iter(wrong))}: "):
        Policy(**{"name": "x"} | wrong)


def test_orders_sort_by_their_key_then_by_arrival():
    waiting = jobs(priority=[1, 0, 0], predicted_output_tokens=[3, 9, 3], ttft_slo_s=[9, 9, 1])

    def order(ordering):
        return [job.position for job in sorted(waiting, key=ordering.key)]

    assert order(Fcfs()) == [0, 1, 2]
    assert order(Priority()) == [1, 2, 0]
    assert order(ShortestOutput()) == [0, 2, 1]
    assert order(EarliestDeadline()) == [2, 0, 1]


def test_victims_are_chosen_by_their_rule():
    running = jobs(priority=[5, 5, 0])
    assert LastAdmitted().choose(running) is running[2]
    assert LowestPriority().choose(running) is running[1]
    running[0].known_tokens += 2
    running[1].prompt_tokens += 1
    running[1].known_tokens += 2
    running[2].known_tokens += 2
    assert FewestOutput().choose(running) is running[1]  # one output, the others two
    running[1].known_tokens += 1
    assert FewestOutput().choose(running) is running[1]  # all two: the longer prompt
    running[1].prompt_tokens -= 1
    running[1].known_tokens -= 1
    assert FewestOutput().choose(running) is running[2]  # all alike: the later one


def test_time_alone_sums_the_chunks_over_what_is_cached():
    step = AffineStep(base_s=1.0, per_token_s=0.1, per_work_s=0.01)
    whole = alone_s(step, context_tokens=0, n_tokens=25, budget_tokens=10)
    assert whole == pytest.approx((2 + 0.55) + (2 + 1.55) + (1.5 + 5 * 20 * 0.01 + 0.15))
    assert alone_s(step, context_tokens=20, n_tokens=5, budget_tokens=10) == pytest.approx(1.5 + 1 + 0.15)


def test_late_is_strictly_late():
    (job,) = jobs(1, ttft_slo_s=[3.0])
    assert not Shedding("reject").is_late(job, 0.0, 3.0)
    assert Shedding("reject").is_late(job, 0.0, 3.001)


def test_rounding_errors_do_not_decide_between_equal_moments():
    first, second = jobs(2, ttft_slo_s=[1.0, 0.0])
    first.arrival_s, first.deadline_s = 0.3, 0.1 + 0.2  # a little more than 0.3
    second.arrival_s = second.deadline_s = 0.3
    assert min([second, first], key=EarliestDeadline().key) is first
    first.arrival_s = 0.1 + 0.2
    assert LowestPriority().choose([first, second]) is second
