"""Measured closed loops: what is read, what is judged, and how the two routes fare."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.cli.app import main
from validation.serving_points.check import PointResults, Verdict, check_points
from validation.serving_points.engines import ENGINES
from validation.serving_points.points import Point, read_points
from validation.serving_points.predicted import predicted
from validation.serving_points.simulated import simulated

POINTS = Path(__file__).parents[2] / "data" / "serving_points" / "points.csv"


@pytest.fixture(name="found", scope="module")
def _found() -> PointResults:
    return check_points(POINTS)


def _sglang() -> Point:
    return next(point for point in read_points(POINTS) if point.engine == "sglang" and point.in_flight == 64)


def _judged(found: PointResults) -> dict[tuple[str, str, str], Verdict]:
    return {(each.group, each.route, each.quantity): each for each in found.verdicts if each.most_error_frac}


def test_both_routes_meet_the_measured_means_of_every_engine(found: PointResults) -> None:
    judged = _judged(found)
    assert set(judged) == {
        (engine, route, quantity)
        for engine in ("vllm", "sglang", "trtllm")
        for route in ("simulator", "theory")
        for quantity in ("tpot", "ttft")
        if (engine, quantity) != ("trtllm", "ttft")
    }
    assert found.is_good, found.text()


def test_a_full_memory_and_eight_bits_are_reported_apart(found: PointResults) -> None:
    assert "skipped 1 rows: precision fp8: only 16 bits are judged" in found.text()
    full = [each for each in found.verdicts if each.is_kv_bound]
    assert full
    assert all(each.most_error_frac is None for each in full)
    assert [where.theory for where in found.points if where.is_kv_bound] == [None]


def test_a_herd_that_never_disperses_is_the_same_by_formula_and_by_simulation() -> None:
    point, setting = _sglang(), ENGINES["sglang"]
    formula, run = predicted(point, setting), simulated(point, setting)
    assert formula.ttft_s == pytest.approx(run.ttft_s, rel=1e-9)
    assert formula.tpot_s == pytest.approx(run.tpot_s, rel=2e-3)  # the context grows by whole tokens


def test_host_time_of_a_sequence_shows_in_tpot() -> None:
    point = next(point for point in read_points(POINTS) if point.engine == "vllm" and point.in_flight == 128)
    without = replace(ENGINES["vllm"], per_sequence_s=0.0)
    for route in (simulated, predicted):
        gained_s = route(point, ENGINES["vllm"]).tpot_s - route(point, without).tpot_s
        assert 0.5 * 128 * 50e-6 < gained_s < 128 * 50e-6  # some of the 128 are not decoding


def test_an_error_above_its_limit_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = POINTS.read_text().splitlines()
    slow = tmp_path / "slow.csv"
    cells = [line.split(",") for line in lines]
    at = cells[0].index("silicon_tpot_ms")
    for row in cells[1:]:
        row[at] = str(2 * float(row[at]))
    slow.write_text("\n".join(",".join(row) for row in cells) + "\n")
    assert main(["validate", "serving-points", str(slow), "--format", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["summary"]["n_failed"] >= 3
    assert main(["validate", "serving-points", str(POINTS)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("0 failed, 1 skipped")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("concurrency", "users", r"no column concurrency$"),
        ("concurrency", "concurency", r"no column concurrency \(did you mean 'concurency'\?\)$"),
        (",128,128,", ",128,many,", r"line \d+: concurrency is 'many', not a whole number >= 1"),
        (",2,1,,", ",0.5,1,,", r"line \d+: tp_size is '0.5', not a whole number >= 1"),
    ],
)
def test_what_cannot_be_read_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    header = POINTS.read_text().splitlines()[0]
    row = "Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,,2,1,,1024,128,128,691,80,x,y"
    text = f"{header}\n{row}\n"
    assert old in text
    odd.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=said):
        read_points(odd)


def test_another_table_is_refused_with_the_columns_said_once(tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text("arrival_s,prompt_tokens\n0,9\n")
    with pytest.raises(ConfigError, match="no table of serving points") as error:
        read_points(odd)
    assert str(error.value).count("silicon_ttft_ms") == 1


def test_a_table_without_a_row_that_can_be_judged_is_no_success(tmp_path: Path) -> None:
    odd = tmp_path / "other.csv"
    header = POINTS.read_text().splitlines()[0]
    odd.write_text(f"{header}\nQwen/Qwen3-32B,h100_sxm,lmdeploy,1,,2,1,,1024,128,8,91,8,x,y\n")
    found = check_points(odd)
    assert not found.is_good
    assert "skipped 1 rows: engine lmdeploy has no setting" in found.text()


@pytest.mark.shared
@pytest.mark.slow
def test_all_measured_points_are_met(shared: Path) -> None:
    found = check_points(shared / "data" / "aiconfigurator" / "serving_dense.csv")
    assert found.is_good, found.text()
    assert found.n_passed == 10
