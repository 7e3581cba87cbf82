"""The evaluation of DistServe: the authors' step times in the simulator, curve by curve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad
from validation.claims import check_claims
from validation.claims._distserve_data import read_curves, read_fits, read_pairs, read_tokens
from validation.claims._distserve_served import system_of

_READERS = {"tokens": read_tokens, "fits": read_fits, "attainment": read_curves}
DATA = Path(__file__).parents[2] / "data" / "claims"


def test_a_step_takes_what_the_fit_says() -> None:
    step = read_fits(DATA)["distserve", "opt-13b", 1]
    prompts = StepLoad(prefill_tokens=300, prefill_work=100 * 101 / 2 + 200 * 201 / 2, n_sampled=2)
    expected_ms = 18.10254646 + 0.10191226 * 300 + 7.122264e-6 * (100**2 + 200**2)
    assert 1e3 * step.step_s(prompts) == pytest.approx(expected_ms, rel=1e-6)
    few, many = StepLoad(n_decodes=10, decode_context_tokens=5000), StepLoad(n_decodes=200)
    assert 1e3 * step.step_s(few) == pytest.approx(19.9347 + 0.000626936 * 5000 + 0.038507 * 10, rel=1e-5)
    assert 1e3 * step.step_s(many) == pytest.approx(7.166189 + 0.158311 * 200, rel=1e-5)


def test_two_stages_give_each_request_a_token_in_the_time_of_half_the_batch() -> None:
    step = read_fits(DATA)["distserve", "opt-66b", 2]
    for n in (20, 150):
        whole = StepLoad(n_decodes=2 * n, decode_context_tokens=2000 * n)
        half = StepLoad(n_decodes=n, decode_context_tokens=1000 * n)
        assert step.in_stages(2).step_s(whole) == pytest.approx(step.step_s(half), rel=1e-12)


def test_prompts_and_outputs_fit_into_the_context_and_half_the_outputs_are_messages() -> None:
    prompts, outputs = read_pairs(DATA)
    assert (prompts + outputs).max() < 2048
    assert outputs.min() >= 1
    again, _ = read_pairs(DATA)
    assert np.array_equal(prompts, again)


def test_systems_are_those_of_the_start_scripts() -> None:
    fits, tokens = read_fits(DATA), read_tokens(DATA)
    whole, apart = (
        system_of(curve, fits, tokens)
        for name in ("vllm", "distserve")
        for curve in read_curves(DATA)
        if (curve.model, curve.system) == ("opt-13b", name)
    )
    assert (whole.first.tp, whole.decode, whole.first.n_blocks) == (1, None, 66_144 // 16)
    assert apart.decode is not None
    assert (apart.first.tp, apart.first.budget_tokens, apart.decode.tp) == (2, 8192, 1)


@pytest.mark.slow
def test_every_measured_rate_is_compared_and_the_verdict_is_the_mean_of_a_curve() -> None:
    (result,) = check_claims(["distserve"], data=DATA).results
    assert result.finding is not None
    simulated = [point for point in result.finding.points if point.route == "simulation"]
    assert len(simulated) == 5
    assert {point.unit for point in simulated} == {"points"}
    part = next(part for part in result.finding.parts if part.what.startswith("opt-66b vllm"))
    (point,) = (point for point in simulated if point.what.startswith("opt-66b"))
    assert part.found.startswith(f"{point.error:.1f} ")
    assert part.holds == (point.error <= 8)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("a100_latency_fits.csv", "phase", "stage", "no column phase"),
        ("a100_latency_fits.csv", "decoding_largebs", "decoding", "lacks one of prefill"),
        ("a100_max_num_tokens.csv", "66144", "much", "'much' is not a number"),
        ("slo_attainment_measured_digitised.csv", "ShareGPT", "LongBench", "no row of ShareGPT"),
    ],
)
def test_files_of_another_form_are_told_in_one_line(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    (tmp_path / "distserve").mkdir()
    for path in (DATA / "distserve").iterdir():
        text = path.read_text(encoding="utf-8")
        changed = text.replace(old, new) if path.name == file else text
        (tmp_path / "distserve" / path.name).write_text(changed, encoding="utf-8")
    read = next(read for word, read in _READERS.items() if word in file)
    with pytest.raises(ConfigError, match=said):
        read(tmp_path)


def test_tables_without_the_rows_of_a_system_or_without_any_are_refused(tmp_path: Path) -> None:
    curve = read_curves(DATA)[0]
    with pytest.raises(ConfigError, match=r"a100_max_num_tokens\.csv: no row of"):
        system_of(curve, read_fits(DATA), {})
    with pytest.raises(ConfigError, match=r"a100_latency_fits\.csv: no row of"):
        system_of(curve, {}, read_tokens(DATA))
    (tmp_path / "distserve").mkdir()
    header = (DATA / "distserve" / "a100_max_num_tokens.csv").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "distserve" / "a100_max_num_tokens.csv").write_text(header + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no rows below the header"):
        read_tokens(tmp_path)
