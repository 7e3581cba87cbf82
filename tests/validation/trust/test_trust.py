"""The page on trust: its tables are made from checkers, each in its place, and the rest stays as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.sweeps import check_sweeps
from validation.trust import SECTIONS, Row, renewed, rows_of, section_names, table
from validation.trust.__main__ import main
from validation.trust.row import Miss
from validation.trust.sweep_rows import sweep_misses, sweep_table

DATA = Path(__file__).parents[2] / "data"
PAGE = Path(__file__).parents[3] / "docs" / "trust.md"
COLUMNS = 9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Small extracts in the layout of the whole."""
    data = tmp_path / "data"
    shutil.copytree(DATA / "claims", data)
    shutil.copytree(DATA / "peer_des", data / "peer_des")
    (data / "aiconfigurator").mkdir()
    places = {
        "step_times/forward.csv": "forward_pass_grid.csv",
        "step_times/mixed.csv": "mixed_step_grid.csv",
        "serving_points/points.csv": "serving_dense.csv",
    }
    for ours, theirs in places.items():
        shutil.copy(DATA / ours, data / "aiconfigurator" / theirs)
    return data


def _misses(*errors: float, route: str = "theory") -> list[Miss]:
    words = {"hardware": "h100", "engine": "vLLM", "metric": "TPOT", "load": "low", "setting": "datasheet"}
    return [Miss(**words, route=route, unit="%", error=error) for error in errors]


def test_the_page_has_a_place_for_every_table_and_none_is_empty() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert section_names(text) == list(SECTIONS)
    assert "not made yet" not in text


def test_errors_are_summed_up_by_everything_but_their_size() -> None:
    rows = rows_of([*_misses(1.0, 2.0, 9.0), *_misses(5.0, float("nan"), route="simulation")])
    assert [(row.route, row.n, row.median) for row in rows] == [("theory", 3, 2.0), ("simulation", 1, 5.0)]
    assert rows[0].p90 == pytest.approx(7.6)


def test_a_table_has_a_line_a_row_with_all_columns() -> None:
    row = Row(
        hardware="a100", engine="vLLM", metric="share", load="low", setting="none", route="theory",
        unit="points", n=1200, median=1.25, p90=3.0,
    )  # fmt: skip
    lines = table([row]).splitlines()
    assert lines[2] == "| a100 | vLLM | share | low | none | theory | 1,200 | 1.2 points | 3.0 points |"
    assert {line.count("|") for line in lines} == {COLUMNS + 1}


def test_a_table_without_a_place_is_told() -> None:
    with pytest.raises(ConfigError, match="no place for y; there are x"):
        renewed("<!-- table: x -->\n\nold\n\n<!-- end -->", {"y": "new"})


@pytest.mark.parametrize(
    "name",
    [
        "step-times",
        pytest.param("serving-points", marks=pytest.mark.slow),
        pytest.param("distserve", marks=pytest.mark.slow),
        "peer-des",
    ],
)
def test_a_table_is_made_from_small_extracts_and_again_the_same(folder: Path, name: str) -> None:
    made = SECTIONS[name](folder)
    lines = made.splitlines()
    assert len(lines) > 3
    assert {line.count("|") for line in lines} == {COLUMNS + 1}
    assert "nan" not in made
    assert SECTIONS[name](folder) == made


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("splitwise-batches", ("vLLM 2023", "efficiencies on one sequence", "10")),
        ("sarathi-chunks", ("Sarathi-Serve 2024", "two numbers, on whole prompts", "20")),
    ],
)
def test_passes_of_one_card_are_one_line_that_counts_all(
    folder: Path, name: str, said: tuple[str, str, str]
) -> None:
    _, _, *lines = SECTIONS[name](folder).splitlines()
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert [(row[2], row[5], row[7]) for row in cells] == [said]


def test_only_the_tables_that_were_asked_for_change(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["peer-des", "--data", str(folder), "--page", str(page)]) == 0
    before, after = (path.read_text(encoding="utf-8") for path in (PAGE, page))
    assert renewed(after, {"peer-des": ""}) == renewed(before, {"peer-des": ""})
    assert SECTIONS["peer-des"](folder) in after


def test_several_tables_side_by_side_are_the_same_as_alone(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shutil.copy(PAGE, page)
    assert main(["step-times", "peer-des", "--data", str(folder), "--page", str(page)]) == 0
    alone = {name: SECTIONS[name](folder) for name in ("step-times", "peer-des")}
    assert page.read_text(encoding="utf-8") == renewed(PAGE.read_text(encoding="utf-8"), alone)


def test_bad_input_leaves_the_page_as_it_was(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("no place here", encoding="utf-8")
    asked = ["--data", str(folder), "--page", str(page)]
    assert main(["step-time", *asked]) == 2
    assert "did you mean 'step-times'" in capsys.readouterr().err
    assert main(["step-times", *asked]) == 2
    assert "no place for step-times" in capsys.readouterr().err
    assert main(["step-times", "--data", "no/such", "--page", str(page)]) == 2
    assert capsys.readouterr().err == "--data: no/such is not a folder\n"
    (folder / "distserve" / "a100_latency_fits.csv").unlink()
    shutil.copy(PAGE, page)
    assert main(["distserve", *asked]) == 2
    assert "has no distserve/a100_latency_fits.csv" in capsys.readouterr().err
    assert page.read_bytes() == PAGE.read_bytes()


def test_a_sweep_counts_once_a_quantity_and_not_where_it_was_fitted(tmp_path: Path) -> None:
    rows = ["sweep_id,load,request_rate_rps,req_tput_rps,completed,ttft_mean_ms,tpot_mean_ms"]
    rows += [f"{name},open_rate,4,4,200,50,10" for name in ("one", "two")]
    (tmp_path / "rows.csv").write_text("\n".join(rows), encoding="utf-8")
    common = {
        "file": "rows.csv", "hardware": "a100", "model": "llama-3.1-8b", "tp": 2, "prompt": "constant(100)",
        "output": "constant(20)", "arrivals": "poisson", "requests": 50, "judge": {"ttft": 0.25, "tpot": 0.1},
    }  # fmt: skip
    entries = [common | {"sweep_id": name, "role": "datasheet"} for name in ("one", "two")]
    (tmp_path / "m.json").write_text(json.dumps({"sweep": entries}), encoding="utf-8")
    misses = list(sweep_misses(check_sweeps(tmp_path / "m.json"), "vLLM"))
    found = [(row.hardware, row.metric, row.route, row.n) for row in rows_of(misses)]
    assert ("a100 x 2", "TPOT", "simulation", 2) in found
    assert ("a100 x 2", "TTFT before the knee", "theory", 2) in found
    assert "| all | all | TPOT |" in sweep_table(misses)
