"""Clients with limited patience: who is cancelled, what that frees, who comes again."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests
from sim import reference
from sim.clients import Attempted, Patience, simulate_retries
from sim.policies import Policy
from sim.record import Status
from sim.replica import Replica
from sim.testing import ConstantStep

TWO = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[8, 8], output_tokens=[6, 1])
POLICY = Policy(name="chunked", budget_tokens=8, max_seqs=1)
REPLICA = Replica(step_time=ConstantStep(1.0), n_blocks=8)


def served(patience: Patience) -> Attempted:
    return simulate_retries(TWO, POLICY, REPLICA, patience)


def test_endless_patience_changes_nothing() -> None:
    found = served(Patience(timeout_s=1e6))
    plain = reference.simulate(TWO, POLICY, REPLICA)
    assert found.attempts.first_token_s.tolist() == plain.first_token_s.tolist()
    assert found.attempts.finish_s.tolist() == plain.finish_s.tolist()
    assert found.wasted_tokens.tolist() == [0, 0]


def test_who_has_a_token_stays_if_the_first_is_what_it_waits_for() -> None:
    found = served(Patience(timeout_s=3.0))
    assert found.served.tolist() == [True, False]
    assert found.wasted_tokens.tolist() == [0, 0]


def test_a_late_answer_is_work_in_vain_and_leaves_its_place_to_the_next() -> None:
    asked = Requests(arrival_s=[0.0, 2.0], prompt_tokens=[8, 8], output_tokens=[6, 1])
    found = simulate_retries(asked, POLICY, REPLICA, Patience(timeout_s=3.0, waits_for="answer"))
    assert found.n_cancelled.tolist() == [1, 0]
    assert found.wasted_tokens.tolist() == [11, 0]  # the prompt and three outputs
    assert found.e2e_s[1] == 3.0


def test_time_counts_from_the_first_attempt() -> None:
    found = served(Patience(timeout_s=3.0, retries=2, retry_delay_s=1.0))
    assert found.n_attempts.tolist() == [1, 2]
    assert found.ttft_s.tolist() == [1.0, 7.0]
    assert found.good(Slo(ttft_s=3.0)).tolist() == [True, False]


def test_an_attempt_never_sent_stays_unfinished() -> None:
    status = served(Patience(timeout_s=1e6, retries=1)).attempts.status
    assert status.tolist() == [Status.FINISHED, Status.UNFINISHED] * 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"timeout_s": 1.0, "retries": -1}, "retries"),
        ({"timeout_s": 1.0, "backoff": 0.5}, "backoff"),
        ({"timeout_s": 1.0, "waits_for": "anser"}, "did you mean 'answer'"),
    ],
)
def test_bad_patience_is_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Patience(**given)  # type: ignore[arg-type]
