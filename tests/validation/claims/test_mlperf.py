"""Certified rates: rows are counted once, and what cannot be compared is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo
from qtheory.system.workload import Workload
from validation.claims import check_claims
from validation.claims._mlperf_lengths import lengths_of
from validation.claims._mlperf_rates import closed_rps, numeric_rps, offline, settings
from validation.claims._mlperf_rows import read_rows

DATA = Path(__file__).parents[2] / "data" / "claims"
TABLE = DATA / "benchmarks" / "mlperf_inference_llm.csv"


def test_each_system_and_scenario_is_counted_once_and_in_the_closed_division() -> None:
    rows, notes = read_rows(TABLE)
    assert len({row.key for row in rows}) == len(rows) == 11
    assert notes[0].startswith("left out: 9 rows")
    assert notes[1].startswith("left out: 2 rows of the open division")
    assert notes[2].endswith("NVIDIA H200-NVL-141GB (2)")
    assert {row.hardware for row in rows} == {"h200", "l40s", ""}


def test_the_more_exact_target_is_the_one_that_counts() -> None:
    rows, _ = read_rows(TABLE)
    (server,) = (row for row in rows if row.submitter == "ASUSTeK" and row.scenario == "Server")
    assert server.rate_rps == 83.88  # 87.5 at 99 %


def test_outputs_have_the_measured_mean_and_prompts_of_orca_end_at_1024_tokens() -> None:
    lengths = lengths_of(DATA, "llama-2-70b", 290.0)
    assert lengths.mean_output_tokens == pytest.approx(290, rel=0.01)
    assert max(lengths.prompt_tokens) <= 1024
    assert set(lengths_of(DATA, "llama-3.1-8b", 129.0).output_tokens) == {128}


def test_half_the_efficiency_takes_half_the_rate_offline() -> None:
    load = Workload(name="x", lengths=lengths_of(DATA, "llama-2-70b", 290.0), rate_rps=1.0)
    whole = list(settings("h200", "llama-2-70b", 1))
    half = [each.at(0.5) for each in whole]
    assert offline(half, load) == pytest.approx(0.5 * offline(whole, load), rel=1e-9)


@pytest.mark.slow
def test_a_tighter_limit_takes_less_and_a_pool_the_sum_of_its_replicas() -> None:
    lengths = lengths_of(DATA, "llama-2-70b", 290.0)
    loose = Workload(name="x", lengths=lengths, rate_rps=1.0, slo=Slo(ttft_s=2.0, tpot_s=0.2))
    tight = Workload(name="x", lengths=lengths, rate_rps=1.0, slo=Slo(ttft_s=0.45, tpot_s=0.03))
    one = [each for each in settings("h200", "llama-2-70b", 1) if each.spec.scheduler.max_seqs == 128]
    pool = [each for each in settings("h200", "llama-2-70b", 4) if each.spec.tp == 1][2:3]
    rate, setting = closed_rps(one, loose)
    assert setting is not None
    assert closed_rps(one, tight)[0] < rate
    assert closed_rps(pool, loose)[0] == pytest.approx(4 * rate)
    assert 0.7 * rate < numeric_rps(setting, loose, rate) <= 1.04 * rate
    assert (
        numeric_rps(setting, Workload(name="x", lengths=lengths, rate_rps=1.0, slo=Slo(ttft_s=1e-6)), rate)
        == 0
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nodes,", "knots,", "no column nodes"),
        ("15.4091", "many", "rate is 'many', not a number"),
        ("15.4091", "-1", "a rate of '-1' on '1' nodes"),
        (",closed,", ",network,", "no row of the closed division"),
    ],
)
def test_a_table_of_another_form_is_told_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=said):
        read_rows(path)


@pytest.mark.slow
def test_the_claim_compares_every_single_node_of_a_known_card() -> None:
    (result,) = check_claims(["mlperf"], data=DATA).results
    assert result.finding is not None
    settings_of = [point.setting for point in result.finding.points]
    assert settings_of.count("datasheet") == 4
    assert settings_of.count("one efficiency an engine") == settings_of.count("its own Offline rate") == 5
    assert result.finding.parts[-1].found.startswith("2 of 2")
