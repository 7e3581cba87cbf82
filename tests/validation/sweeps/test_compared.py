"""What is judged of a sweep: a miss is a miss, and what cannot be judged does not pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from qtheory.system.scenario import Scenario
from validation.sweeps.compared import Judged, compare
from validation.sweeps.measured import Row
from validation.sweeps.predicted import predict_row
from validation.sweeps.result import Route
from validation.sweeps.served import Fitted, ServedRow
from validation.sweeps.simulated import run_row
from validation.sweeps.sweep import Sweep


def _sweep(**judge: float) -> Sweep:
    return Sweep(
        where="",
        file=Path(),
        sweep_id="x",
        role="datasheet",
        scenario=Scenario(),
        judge=judge,
        knee_ttft_s=1.0,
    )


def _row(rate: float, throughput: float, ttft_s: float) -> Row:
    return Row(line=2, load="open_rate", rate_rps=rate, throughput_rps=throughput, ttft_s=ttft_s, tpot_s=0.01)


def _served(throughput: float, ttft_s: float, tpot_s: float = 0.01) -> ServedRow:
    return ServedRow(throughput_rps=throughput, ttft_s=ttft_s, tpot_s=tpot_s)


def _one(found: Sequence[Judged]) -> Judged:
    assert len(found) == 1
    return found[0]


ROWS = [_row(4.0, 4.0, 0.1), _row(8.0, 8.0, 0.2), _row(12.0, 10.0, 20.0), _row(16.0, 10.2, 50.0)]


@pytest.mark.parametrize(("full", "holds"), [(10.9, True), (11.3, False), (9.0, False)])
def test_a_plateau_is_the_mean_of_the_rows_that_do_not_keep_up(full: float, holds: bool) -> None:
    made = [_served(4.0, 0.1), _served(8.0, 0.2), _served(full, 20.0), _served(full, 50.0)]
    found = _one(compare(_sweep(plateau_rps=0.10), list(zip(ROWS, made, strict=True))))
    assert found.measured == pytest.approx(10.1)
    assert found.predicted == pytest.approx(full)
    assert found.holds is holds


@pytest.mark.parametrize(("top", "wait_s", "holds"), [(8.0, 0.2, True), (9.0, 0.2, True), (7.0, 20.0, False)])
def test_a_sweep_that_keeps_up_bounds_plateau_and_knee_from_below(
    top: float, wait_s: float, holds: bool
) -> None:
    pairs = [(ROWS[0], _served(4.0, 0.1)), (ROWS[1], _served(top, wait_s))]
    found = compare(_sweep(plateau_rps=0.10, knee_rps=0.10), pairs)
    assert [each.holds for each in found] == [holds, holds]
    assert "not reached" in found[0].text()


def test_what_is_not_measured_is_not_judged() -> None:
    row = Row(line=2, load="open_rate", rate_rps=4.0)
    found = compare(_sweep(plateau_rps=0.10, knee_rps=0.10, ttft=0.25, tpot=0.10), [(row, _served(4.0, 0.1))])
    assert [each.holds for each in found if each.quantity != "knee_rps"] == [None, None, None]
    assert Route(name="theory", served=(), compared=tuple(found)).outcome == "skipped"


def test_one_miss_fails_and_one_gap_does_not_pass() -> None:
    held = Judged(quantity="tpot", most_frac=0.1, error_frac=0.05, holds=True)
    gap, miss = replace(held, holds=None), replace(held, holds=False)
    outcomes = [
        Route(name="theory", served=(), compared=parts).outcome
        for parts in ((held,), (held, gap), (gap, miss), ())
    ]
    assert outcomes == ["passed", "skipped", "failed", "skipped"]


def test_ttft_is_judged_before_the_knee_only() -> None:
    made = [_served(4.0, 0.11), _served(8.0, 0.24), _served(10.0, 1.0), _served(10.0, 1.0)]
    found = _one(compare(_sweep(ttft=0.25), list(zip(ROWS, made, strict=True))))
    assert (found.n_rows, found.holds) == (2, True)
    assert found.error_frac == pytest.approx(0.15)
    assert found.worst_frac == pytest.approx(0.20)


@pytest.mark.parametrize(("ttft_s", "holds"), [((0.1, 0.2, 2.0), True), ((0.1, 2.0, 9.0), False)])
def test_a_knee_between_coarse_rows_holds_in_the_same_gap_and_in_no_other(
    ttft_s: tuple[float, float, float], holds: bool
) -> None:
    made = [_served(1.0, wait) for wait in (*ttft_s, 99.0)]
    assert _one(compare(_sweep(knee_rps=0.10), list(zip(ROWS, made, strict=True)))).holds is holds


def test_a_row_without_an_answer_leaves_its_quantity_unjudged() -> None:
    found = _one(compare(_sweep(tpot=0.10), [(ROWS[0], _served(4.0, 0.1)), (ROWS[1], None)]))
    assert found.holds is None
    assert "no answer at 8 req/s" in found.text()


@pytest.mark.parametrize(
    ("centres", "holds"), [((1.0, 2.0, 4.0), True), ((1.9, 1.9, 2.1), True), ((9.0, 9.0, 9.0), False)]
)
def test_waits_must_lie_in_the_range_of_the_runs_and_tell_more_than_a_constant(
    centres: tuple[float, float, float], holds: bool
) -> None:
    rows = [_row(2.0, 2.0, wait) for wait in (1.1, 2.0, 3.6)]
    made = [
        replace(_served(2.0, wait), low_ttft_s=0.5 * wait, high_ttft_s=2 * wait if holds else 1.1 * wait)
        for wait in centres
    ]
    assert _one(compare(_sweep(ttft_inside=0.8), list(zip(rows, made, strict=True)))).holds is holds


def test_theory_reads_the_cached_part_of_a_prompt_as_the_simulator_does() -> None:
    scenario = Scenario(
        hardware="h100", model="llama-2-7b", max_seqs=128, prefix_cache=True, prompt="constant(1200)",
        output="constant(100)", requests=1500, prefix="shared(tokens=1184, n=4)",
    )  # fmt: skip
    warm = Sweep(
        where="", file=Path(), sweep_id="x", role="datasheet", scenario=scenario, shared_prefix_tokens=1184,
        replications=1,
    )  # fmt: skip
    row = Row(line=2, load="open_rate", rate_rps=25.0, tpot_s=0.01)
    run, said = run_row(warm, row, Fitted()), predict_row(warm, row, Fitted())
    short = replace(
        warm, scenario=replace(scenario, prompt="constant(16)", prefix="none", prefix_cache=False)
    )
    bare = predict_row(replace(short, shared_prefix_tokens=0), row, Fitted())
    assert run.tpot_s is not None
    assert said.tpot_s == pytest.approx(run.tpot_s, rel=0.05)
    assert bare.tpot_s is not None
    assert bare.tpot_s < 0.9 * run.tpot_s


def test_host_time_of_a_sequence_is_part_of_a_fitted_step() -> None:
    scenario = Scenario(hardware="h100", model="llama-3.1-8b")
    card = Fitted().replica(scenario).roofline
    plain, more = Fitted(roofline=card), Fitted(roofline=card, values={"per_sequence_s": 4e-5})
    steps = [fit.replica(scenario).step_time.decode_line(100) for fit in (plain, more)]
    assert steps[0] is not None
    assert steps[1] is not None
    assert steps[1][0] - steps[0][0] == pytest.approx(100 * 4e-5)
