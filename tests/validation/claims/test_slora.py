"""The claims on finite runs of S-LoRA: what its script draws, who is given up, and the form of the table."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from sim import engine
from sim.job import Job
from validation.claims import check_claims
from validation.claims._distserve_data import FittedStep
from validation.claims._lightllm import lightllm, pool
from validation.claims._lightllm_loop import served_in_order
from validation.claims._slora_order import RushLedger
from validation.claims._slora_rows import FILE, Row, adapter_tokens, drawn, read_rows
from validation.claims._slora_served import SLO_S, Steps, light_rows, served

DATA = Path(__file__).parents[2] / "data" / "claims"
LINE = (0.03, 1.4e-6, 0.0)
STEP = FittedStep(prefill=(0.04, 2.4e-4, 0.0), small=LINE, large=LINE, threshold=0)
STEPS = Steps(plain=STEP, slowed=STEP)
POOL = 14_500


def _row(policy: str = "slora", **other: float) -> Row:
    """A short one, unless told otherwise."""
    row = next(row for row in read_rows(DATA) if row.policy == policy)
    short = replace(row, rate_rps=15.0, duration_s=6.0, lengths=(8, 512, 8, 256))
    return replace(short, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(("cv", "last_s"), [(1.0, 301.0), (4.0, 353.8), (8.0, 432.5)])
def test_the_script_draws_what_ended_when_it_was_measured(cv: float, last_s: float) -> None:
    """The runs that gave up the late ended 323.7, 371.7 and 452.5 s after their start, one answer later."""
    asked = drawn(replace(read_rows(DATA)[0], rate_rps=2.0, cv=cv))
    assert float(asked.arrival_s[-1]) == pytest.approx(last_s, abs=0.05)
    assert (asked.prompt_tokens.min(), len(asked)) == (8, 600)


def test_adapters_take_memory_from_the_requests() -> None:
    row = _row()
    assert adapter_tokens(row)[:5] == (256, 128, 64, 32, 256)
    assert len(adapter_tokens(row)) == 200
    few, many = (served(replace(row, n_adapters=n), STEPS).ttft_s for n in (1, 200))
    assert few < many


def test_the_loop_gives_the_times_of_the_simulator() -> None:
    for row in (_row(), _row(rate_rps=2.0, cv=4.0, duration_s=60.0)):
        asked, tokens = drawn(row), adapter_tokens(row)
        found = served_in_order(asked, STEP, POOL, tokens)
        records = engine.simulate(asked, lightllm(POOL, adapter_tokens=tokens), pool(STEP, POOL))
        assert np.array_equal(found.first_s, records.first_token_s)
        assert np.array_equal(found.end_s, records.finish_s)


def test_an_adapter_comes_once_as_long_as_somebody_runs_with_it() -> None:
    asked = replace(drawn(_row(duration_s=0.35)), arrival_s=np.zeros(5))
    one, many = (served_in_order(asked, STEP, POOL, (0,) * 200, fetch_s=wait_s) for wait_s in (0.0, 0.5))
    n_clients = len({row.client for row in asked})
    assert one.fetched_frac == many.fetched_frac == n_clients / 5
    np.testing.assert_allclose(many.first_s - one.first_s, 0.5 * n_clients)
    same = replace(asked, client=np.zeros(5, dtype=np.int64))
    assert served_in_order(same, STEP, POOL, (0,), fetch_s=0.5).fetched_frac == 1 / 5


def test_in_a_rush_the_latest_go_first_and_the_earliest_again_when_it_is_over() -> None:
    ledger = RushLedger()
    job = Job.of(drawn(_row()).row(0), 0.0)
    assert ledger.look(n_waiting=9, now_s=0.0)
    ledger.left(job, is_admitted=True)
    assert ledger.look(n_waiting=12, now_s=0.5)  # 4 more than were left: int(0.7 * 4 + 0.3 * 6) = 4 >= 1
    ledger.left(job, is_admitted=False)
    assert ledger.look(n_waiting=7, now_s=1.0)  # nobody came: int(0.3 * 4) = 1 >= 1
    for _ in range(5):
        ledger.left(job, is_admitted=True)
    assert not ledger.look(n_waiting=2, now_s=1.5)  # nobody came, and 5 were taken in at once
    assert not ledger.look(n_waiting=99, now_s=1.5)  # one look a moment


def test_slowed_steps_are_those_with_adapters() -> None:
    slow = Steps(plain=STEP, slowed=FittedStep(prefill=(9.0, 0.0, 0.0), small=LINE, large=LINE, threshold=0))
    row = _row(duration_s=1.0)
    assert served(replace(row, n_adapters=0), slow).ttft_s < 9.0 <= served(row, slow).ttft_s


def test_more_come_in_time_if_the_latest_goes_first_or_the_late_are_given_up() -> None:
    plain, latest, given_up = (served(_row(policy), STEPS) for policy in ("slora", "lifo", "abort"))
    assert latest.in_time_frac > plain.in_time_frac
    assert given_up.in_time_frac > plain.in_time_frac
    assert given_up.ttft_s < SLO_S  # of those served
    assert plain.ttft_s > given_up.ttft_s


def test_only_rates_of_a_sweep_that_are_below_the_limit_calibrate() -> None:
    assert sorted(row.rate_rps for row in light_rows(read_rows(DATA))) == [1.0, 1.0, 1.5, 1.5]


def test_extracts_have_the_form_of_the_whole(tmp_path: Path) -> None:
    """With runs of 3 s, so that they are short: the verdicts mean nothing."""
    shutil.copytree(DATA / "benchmarks", tmp_path / "benchmarks")
    path = tmp_path / FILE
    path.write_text(path.read_text(encoding="utf-8").replace(",300,", ",3,"), encoding="utf-8")
    (result,) = check_claims(["slora-bursts"], data=tmp_path).results
    text = result.text()
    assert "A100 80GB, setting S4, last server: left out, as no run without adapters tells its steps" in text
    assert "slora_synthetic_cv_a10g_S2_slora: logarithm of the TTFT nearer than by the best constant" in text
    assert "slora_synthetic_req_rate_a10g_S2_abort: share with a first token within 6 s" in text
    assert result.finding is not None
    assert len(result.finding.points) == 3 * (1 + 2 + 2 + 1)


def test_a_table_without_runs_of_the_server_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.parent.mkdir()
    lines = (DATA / FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0] + "".join(line for line in lines[1:] if "pets" in line), encoding="utf-8")
    with pytest.raises(ConfigError, match="no run with policy slora, lifo, abort"):
        read_rows(tmp_path)
    path.write_text("".join(lines).replace("open_rate,gamma,1,", "open_rate,gamma,0,"), encoding="utf-8")
    with pytest.raises(ConfigError, match="must be > 0"):
        read_rows(tmp_path)


def test_equal_runs_are_equal_whatever_was_measured() -> None:
    one = _row()
    assert one.asked == replace(one, ttft_s=99.0, sweep="other").asked
    assert one.asked != replace(one, cv=3.0).asked
    assert np.isfinite(one.ttft_s)
