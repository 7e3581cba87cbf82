"""Sweeps of a manifest: a planted one is found again, a wrong one is missed, and bad input is one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from validation.answer.ask import run
from validation.answer.study import Study
from validation.cli.app import main
from validation.sweeps import SHIPPED, SweepResults, check_sweeps, read_manifest
from validation.sweeps.measured import read_rows
from validation.sweeps.served import Fitted
from validation.sweeps.simulated import run_row

ENTRY = {
    "file": "planted.csv",
    "sweep_id": "all",
    "role": "datasheet",
    "hardware": "a100",
    "model": "llama-3.1-8b",
    "scheduler": "chunked",
    "budget_tokens": 2048,
    "max_seqs": 32,
    "prompt": "constant(400)",
    "output": "uniform(low=40,high=80)",
    "arrivals": "poisson",
    "client_cap": 80,
    "requests": 0,
    "judge": {"plateau_rps": 0.10, "knee_rps": 0.10, "ttft": 0.25, "tpot": 0.10},
}
RATES = (2.0, 8.0, 14.0, 22.0, 30.0)
PLANTED = {"mfu_frac": 0.5, "mbu_frac": 0.8, "overhead_per_step_s": 4e-3}


def _written(folder: Path, entries: list[dict[str, object]]) -> Path:
    path = folder / "manifest.json"
    path.write_text(json.dumps({"sweep": entries}), encoding="utf-8")
    return path


def _measure(folder: Path, **engine: float) -> None:
    """A sweep that the simulator ran on an accelerator with other efficiencies, and with another seed."""
    columns = [
        "sweep_id",
        "load",
        "request_rate_rps",
        "req_tput_rps",
        "completed",
        "ttft_mean_ms",
        "tpot_mean_ms",
    ]
    with (folder / "planted.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for rate in RATES:
            scenario = Scenario(
                hardware="a100", model="llama-3.1-8b", budget_tokens=2048, max_seqs=32,
                prompt="constant(400)", output="uniform(low=40,high=80)", prefix="none", client_cap=80,
                rate_rps=rate, requests=1500,
                seed=7, **engine,
            )  # fmt: skip
            seen = run(scenario, study=Study(n_replications=1)).result
            assert seen.mean_ttft_s is not None
            assert seen.mean_tpot_s is not None
            cells = [rate, seen.throughput_rps, 1500, 1e3 * seen.mean_ttft_s, 1e3 * seen.mean_tpot_s]
            table.writerow(["all", "open_rate", *cells])


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> SweepResults:
    folder = tmp_path_factory.mktemp("planted")
    _measure(folder, **PLANTED)
    fit = ENTRY | {"role": "calibrate", "group": "g", "rows": {"request_rate_rps": ["2.0", "8.0", "22.0"]}}
    rest = ENTRY | {"role": "predict", "group": "g"}
    return check_sweeps(_written(folder, [fit, rest, ENTRY]))


def _judged(found: SweepResults, place: int, route: str) -> dict[str, bool | None]:
    routes = {each.name: each for each in found.results[place].routes}
    return {each.quantity: each.holds for each in routes[route].compared}


@pytest.mark.slow
def test_a_planted_sweep_is_found_again_from_three_of_its_rows(found: SweepResults) -> None:
    assert _judged(found, 1, "simulator") == dict.fromkeys(["plateau_rps", "knee_rps", "ttft", "tpot"], True)
    fitted = found.results[1].fitted
    assert fitted.values["mfu_frac"] == pytest.approx(PLANTED["mfu_frac"], rel=0.2)
    assert "per_sequence_s" not in fitted.errors  # the rows are met without it


@pytest.mark.slow
def test_what_is_not_calibrated_misses_a_slower_card_and_says_so(found: SweepResults) -> None:
    assert _judged(found, 2, "simulator")["plateau_rps"] is False
    assert found.results[2].calibrated_on == ()
    assert "MISSED" in found.results[2].text()
    assert not found.is_good


@pytest.mark.slow
def test_counts_are_those_of_sweeps_and_routes(found: SweepResults) -> None:
    assert found.n_passed + found.n_failed + found.n_skipped == 6
    assert found.text().splitlines()[-1].startswith(f"{found.n_passed} passed, {found.n_failed} failed")
    assert len(found.rows()) == 3 + len(RATES) + len(RATES)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_seq": 4}, "sweep 1: 'max_seq': unknown key (did you mean 'max_seqs'?)"),
        ({"role": "guess"}, "role: unknown 'guess'; one of calibrate, predict, datasheet"),
        ({"judge": {"knee": 0.1}}, "judge: unknown 'knee' (did you mean 'knee_rps'?)"),
        ({"judge": {"tpot": 0}}, "judge: tpot: 0 must lie in (0, 1]"),
        ({"tp": "two"}, "tp: 'two' is not a whole number"),
        ({"sweep_id": "al"}, "no sweep_id 'al' (did you mean 'all'?)"),
        ({"rows": {"polcy": "x"}}, "no column 'polcy'"),
        ({"rows": {"load": "closed"}}, "has none of the rows asked for"),
        ({"role": "predict", "group": "h"}, "group 'h' has no sweep with role 'calibrate'"),
        ({"n_prefixes": -1}, "n_prefixes: -1 must be >= 0"),
        ({"file": "gone.csv"}, "file: no gone.csv in "),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    change: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "planted.csv").write_text(
        "sweep_id,load,request_rate_rps\nall,open_rate,1\n", encoding="utf-8"
    )
    assert main(["validate", "sweeps", str(_written(tmp_path, [ENTRY | change]))]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_manifest_without_sweeps_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("sweep = []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="a manifest is a list of sweeps"):
        read_manifest(path)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_manifest_names_what_it_is_calibrated_on(path: Path) -> None:
    sweeps = read_manifest(path)
    fitted = {sweep.group for sweep in sweeps if sweep.role == "calibrate"}
    assert {sweep.group for sweep in sweeps if sweep.role == "predict"} <= fitted
    assert all(sweep.judge and sweep.question for sweep in sweeps)


def test_a_model_file_is_found_beside_the_data_or_the_manifest(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    manifest = _written(tmp_path, [ENTRY | {"model": "own.toml"}])
    (tmp_path / "own.toml").write_text("", encoding="utf-8")
    assert read_manifest(manifest, data=data)[0].scenario.model == str(tmp_path / "own.toml")
    (data / "own.toml").write_text("", encoding="utf-8")
    assert read_manifest(manifest, data=data)[0].scenario.model == str(data / "own.toml")


def test_prompts_that_are_cached_beforehand_are_attended_to_and_not_computed(tmp_path: Path) -> None:
    rows = "sweep_id,load,completed,ttft_mean_ms,tpot_mean_ms\nall,offline,16,50,10\n"
    (tmp_path / "planted.csv").write_text(rows, encoding="utf-8")
    served = {}
    for cached in (0, 1984):
        entry = ENTRY | {"prompt": "constant(2000)", "output": "constant(50)", "requests": 16}
        (sweep,) = read_manifest(_written(tmp_path, [entry | {"cached_tokens": cached}]))
        served[cached] = run_row(sweep, read_rows(sweep)[0], Fitted(), runs=1)
    (short,) = read_manifest(_written(tmp_path, [entry | {"prompt": "constant(16)"}]))
    unread = run_row(short, read_rows(short)[0], Fitted(), runs=1)
    assert served[1984].ttft_s < 0.1 * served[0].ttft_s
    assert served[1984].tpot_s > 1.05 * unread.tpot_s
    with pytest.raises(ConfigError, match="cached_tokens: -1 must be >= 0"):
        read_manifest(_written(tmp_path, [ENTRY | {"cached_tokens": -1}]))
