"""The claim on clients and their shares: its steps, its orders, its service, and the form of its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import LeastServed
from validation.claims import check_claims
from validation.claims._distserve_data import FittedStep
from validation.claims._lightllm import STEPS_BETWEEN, lightllm, pool
from validation.claims._vtc_orders import Charged
from validation.claims._vtc_runs import RUNS, Run, read_runs
from validation.claims._vtc_service import largest_difference
from validation.claims._vtc_steps import step_of

NAME = "vtc-fairness"
DATA = Path(__file__).parents[2] / "data" / "claims"
LINE = (0.02, 1e-6, 0.0)
STEP = FittedStep(prefill=(0.03, 2e-4, 0.0), small=LINE, large=LINE, threshold=0)


def _sent(n: int, gap_s: float) -> Requests:
    rng = np.random.default_rng(3)
    return Requests(
        arrival_s=np.linspace(0.0, (n - 1) * gap_s, n),
        prompt_tokens=rng.integers(50, 400, n),
        output_tokens=rng.integers(20, 200, n),
        client=np.arange(n) % 3 // 2,
    )


def test_step_times_are_told_by_the_requests_of_a_run() -> None:
    sent = _sent(80, 0.4)
    records = engine.simulate(sent, lightllm(4000), pool(STEP, 4000))
    run = Run(
        name="made",
        policy="FCFS",
        per_minute=0,
        server=("card", "model"),
        pool_tokens=4000,
        longest_prompt=400,
        requests=sent,
        client=np.zeros(len(sent), dtype=np.int64),
        first_token_s=records.first_token_s,
        finish_s=records.finish_s,
    )
    found, error = step_of([run])
    assert error < 0.02
    assert found.prefill[1] == pytest.approx(2e-4, rel=0.15)
    assert found.small[0] == pytest.approx(0.02, rel=0.05)
    assert found.small[1] == pytest.approx(1e-6, rel=0.25)


def test_prompts_wait_for_ten_steps_of_decodes() -> None:
    sent = Requests(
        arrival_s=np.array([0.0, 0.031]), prompt_tokens=np.array([10, 10]), output_tokens=np.array([100, 5])
    )
    steps = FittedStep(prefill=(0.03, 0.0, 0.0), small=(1.0, 0.0, 0.0), large=(1.0, 0.0, 0.0), threshold=0)
    records = engine.simulate(sent, lightllm(1000), pool(steps, 1000))
    assert records.first_token_s.tolist() == pytest.approx([0.03, 0.03 + STEPS_BETWEEN + 0.03])


def test_memory_is_kept_for_the_ends_of_those_who_run() -> None:
    sent = Requests(
        arrival_s=np.array([0.0, 0.0]), prompt_tokens=np.array([60, 20]), output_tokens=np.array([9, 50])
    )
    together, apart = (
        engine.simulate(sent, lightllm(n_tokens), pool(STEP, n_tokens)).first_token_s for n_tokens in (99, 98)
    )
    assert together[0] == together[1]
    assert apart[1] > apart[0]


@pytest.mark.parametrize(
    ("order", "turns"), [(LeastServed(), [0, 0, 1, 0]), (Charged(lifts=False), [0, 0, 1, 1])]
)
def test_without_a_lift_what_was_saved_up_is_used_up(order: LeastServed, turns: list[int]) -> None:
    """One request fits at a time; client 1 comes while the second of client 0 is under way."""
    client = np.array([0, 0, 0, 0, 1, 1, 1])
    sent = Requests(
        arrival_s=np.where(client, 0.4, 0.0),
        prompt_tokens=np.full(7, 40),
        output_tokens=np.full(7, 12),
        client=client,
    )
    records = engine.simulate(sent, lightllm(90, order), pool(STEP, 90))
    assert client[np.argsort(records.first_token_s)][:4].tolist() == turns


@pytest.mark.parametrize(("foresees", "last"), [(False, 3), (True, 1)])
def test_outputs_charged_at_admission_decide_who_is_next_in_the_same_pass(foresees: bool, last: int) -> None:
    """Three prompts fit a step. Client 0 asks for less, but for more output."""
    sent = Requests(
        arrival_s=np.zeros(4),
        prompt_tokens=np.array([1000, 1000, 1030, 1030]),
        output_tokens=np.array([100, 100, 2, 2]),
        client=np.array([0, 0, 1, 1]),
    )
    records = engine.simulate(sent, lightllm(9000, Charged(foresees=foresees)), pool(STEP, 9000))
    assert int(np.argmax(records.first_token_s)) == last


def test_service_is_compared_only_while_both_wait() -> None:
    """Both send three at once; the first is served alone, and the other has no queue from second 3 on."""
    client = np.array([0, 0, 0, 1, 1, 1])
    arrival = np.zeros(6)
    first = np.array([0.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    tokens = np.full(6, 10.0)
    found = largest_difference(client, arrival, first, first + 1.0, tokens=tokens, until_s=9.0)
    assert found == pytest.approx(20.0)  # until client 0 has nobody left who waits


def test_extracts_have_the_form_of_the_whole() -> None:
    (result,) = check_claims([NAME], data=DATA).results
    assert result.finding is not None
    text = result.text()
    assert "A100 80GB, Llama-2-13b: left out, as no run in order of arrival tells its steps" in text
    assert "lshare-rpm5_real: 5 a minute and client turn away the same requests: 100.0% of them" in text
    assert {point.metric for point in result.finding.points} >= {"weighted tokens served"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("policy", "polici", "no column 'policy' (did you mean 'polici'?)"),
        ('"[1, 1024]"', "none", "input_range: 'none' is not [least, most]"),
        ("FCFS", "NOBODY", "left out, of other policies: fcfs_overload-multi"),
    ],
)
def test_wrong_tables_are_refused_or_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    shutil.copytree(DATA / "benchmarks", tmp_path / "benchmarks")
    path = tmp_path / RUNS
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    if new == "NOBODY":
        assert read_runs(tmp_path)[1] == ["fcfs_overload-multi"]
        return
    with pytest.raises(ConfigError) as caught:
        read_runs(tmp_path)
    assert said in str(caught.value)


@pytest.mark.shared
@pytest.mark.slow
def test_all_published_runs_are_read(shared: Path) -> None:
    runs, others = read_runs(shared / "data")
    assert (len(runs), others) == (17, [])
