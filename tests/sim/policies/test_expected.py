"""Room for the expected output: the gate, and how its share moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.request import Requests
from sim.job import Job
from sim.observe import Iteration
from sim.policies import Expected, FewestOutput, Joining, Policy, PrefillFirstChunked, make_policy
from sim.record import Status
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import ConstantStep, request_lists


def decoding(*rows):
    """Jobs with so many outputs of so many at most, past their prompts."""
    requests = Requests(
        arrival_s=[0.0] * len(rows), prompt_tokens=[10] * len(rows), output_tokens=[most for _, most in rows]
    )
    jobs = [Job.of(row, 0.0) for row in requests]
    for job, (out, _) in zip(jobs, rows, strict=True):
        job.known_tokens += out
        job.is_prefilling = False
    return jobs


def test_the_share_falls_to_its_floor_in_600_steps():
    account = Expected(conservativeness=1.0).open_account()
    jobs = decoding((0, 1000))
    shares = [account.kept_tokens(jobs) / 1000]
    for _ in range(700):
        account.continued(jobs, is_short=False)
        shares.append(account.kept_tokens(jobs) / 1000)
    assert shares[0] == pytest.approx(0.7)
    assert shares[300] == pytest.approx((0.7 + 0.098) / 2)
    assert shares[599] > 0.098 + 1e-6
    assert shares[600] == shares[700] == pytest.approx(0.098)


def test_after_a_shortage_the_share_is_what_the_survivors_have_done_and_20_steps_more():
    account = Expected().open_account()
    account.continued(decoding((100, 600), (59, 399)), is_short=True)
    assert account.kept_tokens(decoding((0, 1000))) == pytest.approx(1000 * 199 / 1000)
    account.continued(decoding((900, 900)), is_short=True)
    assert account.kept_tokens(decoding((0, 1000))) == pytest.approx(1000.0)  # never more than all of it


def test_of_very_long_outputs_4096_tokens_are_expected_and_the_first_share_is_at_most_one():
    (job,) = decoding((0, 100_000))
    assert Expected().tokens(job, 0) == 10 + 4096
    assert Expected(conservativeness=9.0).open_account().kept_tokens([job]) == pytest.approx(4096.0)
    job.is_prefilling = True
    assert Expected(conservativeness=0.1).open_account().kept_tokens([job]) == pytest.approx(4096.0)


@pytest.mark.parametrize(("n_blocks", "n_at_once"), [(101, 1), (102, 2)])
def test_the_newcomer_must_leave_more_than_a_block_beside_what_is_expected(n_blocks, n_at_once):
    # blocks of 1: each wants 20 + 30; beside the first, 50 + 1 must be fewer than what the prompt leaves
    requests = Requests(
        arrival_s=[0.0, 0.0], prompt_tokens=[20, 20], output_tokens=[2, 2], max_output_tokens=[30, 30]
    )
    policy = make_policy(SchedulerSpec(name="sglang"))
    seen: list[Iteration] = []
    replica = Replica(step_time=ConstantStep(), n_blocks=n_blocks, block_tokens=1)
    simulate(requests, policy, replica, observer=seen.append)
    assert len(seen[0].batch) == n_at_once


@given(request_lists(), st.integers(8, 40), st.sampled_from([1, 4]))
def test_who_fits_alone_is_served_in_the_end(requests, n_blocks, size):
    policy = Policy(
        name="expected",
        admission=Expected(),
        composition=PrefillFirstChunked(),
        ordering=Joining(),
        victim=FewestOutput(),
        budget_tokens=16,
        max_seqs=6,
    )
    replica = Replica(step_time=ConstantStep(), n_blocks=n_blocks, block_tokens=size)
    records = simulate(requests, policy, replica)
    fits = requests.prompt_tokens + requests.max_output_tokens <= n_blocks * size
    assert np.all(records.status[fits] == Status.FINISHED)
    assert np.all(records.status[~fits] == Status.REJECTED)


def test_what_is_retracted_goes_to_the_back_of_the_queue():
    # two grow into a pool of 11 blocks of 1; the second is retracted while a third waits, which goes first
    requests = Requests(
        arrival_s=[0.0, 0.0, 1.5],
        prompt_tokens=[4, 4, 2],
        output_tokens=[6, 6, 1],
        max_output_tokens=[6, 6, 1],
    )
    common = {
        "composition": PrefillFirstChunked(),
        "victim": FewestOutput(),
        "budget_tokens": 16,
        "max_seqs": 2,
    }
    replica = Replica(step_time=ConstantStep(), n_blocks=11, block_tokens=1)
    back = simulate(requests, Policy(name="back", ordering=Joining(), **common), replica)
    front = simulate(requests, Policy(name="front", **common), replica)
    assert back.n_preemptions.tolist() == front.n_preemptions.tolist() == [0, 1, 0]
    assert back.finish_s[2] < back.finish_s[1]
    assert front.finish_s[2] > front.first_scheduled_s[1]
    assert back.finish_s[2] < front.finish_s[2]


def test_the_gate_checks_its_factor():
    with pytest.raises(ConfigError, match="conservativeness"):
        Expected(conservativeness=0.0)
