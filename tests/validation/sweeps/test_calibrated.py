"""Calibration on rows of a closed loop: what was planted is found, and nothing more is fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware.fitted import efficiencies_of, shaped
from qtheory.system.scenario import Scenario
from validation.sweeps.calibrated import calibrated
from validation.sweeps.measured import Row
from validation.sweeps.served import Fitted
from validation.sweeps.simulated import run_row
from validation.sweeps.sweep import Sweep

SWEEP = Sweep(
    where="m.toml: sweep 1",
    file=Path(),
    sweep_id="x",
    role="calibrate",
    scenario=Scenario(
        hardware="h100",
        model="llama-3.1-8b",
        prompt="constant(50)",
        output="uniform(low=20,high=40)",
        prefix="none",
    ),
)


def _measured(in_flight: int, sweep: Sweep = SWEEP, per_sequence_s: float = 0.0, **own: float) -> Row:
    """A row that a server with such a host was seen to have, on an H100 as engines usually have it."""
    card = Fitted().replica(sweep.scenario).roofline
    usual = replace(shaped(card.hardware), **efficiencies_of("h100", "vllm").constants() | own)
    server = Fitted(roofline=replace(card, hardware=usual), values={"per_sequence_s": per_sequence_s})
    row = Row(line=in_flight, load="closed_concurrency", in_flight=in_flight)
    seen = run_row(sweep, row, server, runs=1)
    return replace(row, throughput_rps=seen.throughput_rps, tpot_s=seen.tpot_s)


@pytest.mark.slow
def test_host_time_of_a_sequence_is_found_where_it_is_needed_and_only_there() -> None:
    for planted_s in (0.0, 1e-4):
        fitted = calibrated([(SWEEP, [_measured(n, per_sequence_s=planted_s) for n in (4, 24, 96)])])
        assert ("per_sequence_s" in fitted.errors) is (planted_s > 0)
        found_s = fitted.values.get("per_sequence_s", 0.0)
        assert abs(found_s - planted_s) <= 4 * fitted.errors.get("per_sequence_s", 0.0)


@pytest.mark.slow
def test_slow_attention_is_found_where_the_sweep_says_that_decodes_read_slowly() -> None:
    long = replace(SWEEP.scenario, prompt="constant(800)")
    sweep = replace(SWEEP, scenario=long, attention_mbu_frac=0.3)
    rows = [_measured(n, sweep, attention_mbu_frac=0.1) for n in (4, 24, 96)]
    fitted = calibrated([(sweep, rows)])
    found, error = (each["attention_mbu_frac"] for each in (fitted.values, fitted.errors))
    assert abs(found - 0.1) <= error < 0.3 - found
    assert "per_sequence_s" not in fitted.values


def test_a_group_of_two_systems_is_refused() -> None:
    other = replace(SWEEP, scenario=replace(SWEEP.scenario, tp=2))
    rows = [Row(line=2, load="closed_concurrency", in_flight=4, tpot_s=0.01)]
    with pytest.raises(ConfigError, match="tp: differs within group"):
        calibrated([(SWEEP, rows), (other, rows)])


def test_a_group_that_reads_at_two_shares_is_refused() -> None:
    rows = [Row(line=2, load="closed_concurrency", in_flight=4, tpot_s=0.01)]
    with pytest.raises(ConfigError, match="attention_mbu_frac: differs within group"):
        calibrated([(SWEEP, rows), (replace(SWEEP, attention_mbu_frac=0.5), rows)])


def test_a_share_of_the_bandwidth_above_one_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"attention_mbu_frac: 1\.5 must lie in"):
        replace(SWEEP, attention_mbu_frac=1.5)


def test_rows_without_a_number_are_refused() -> None:
    with pytest.raises(ConfigError, match="no TTFT, TPOT or rate to calibrate on"):
        calibrated([(SWEEP, [Row(line=2, load="closed_concurrency", in_flight=4)])])
