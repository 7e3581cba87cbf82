"""The page on agreement is made from what is kept, each table in its place."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.validation.agreement.kept import made
from validation.agreement import Score, Simulated, Simulations, read_simulations
from validation.agreement.__main__ import main
from validation.agreement._knee_simulated import SimulatedKnee
from validation.agreement.page import TABLES
from validation.agreement.simulated import CONTROLLED
from validation.trust import section_names

PAGE = Path(__file__).parents[3] / "docs" / "agreement.md"


def test_the_page_is_of_all_cells_that_are_kept() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert section_names(text) == list(TABLES)
    n = len(read_simulations().cells)
    assert f"\n{'All' if n == 300 else f'{n} of the'} 300 cells are simulated (" in text


@pytest.fixture(name="page")
def _page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the page, and two cells that are kept and scored."""
    scores = [made(0, 0.01), made(1, -0.3)]
    numbers = {"n_requests": 250_000.0}
    freed = numbers | {CONTROLLED["mean_ttft_s"]: 0.2, f"{CONTROLLED['mean_ttft_s']}_half": 0.01}
    older = SimulatedKnee(rate_rps=2.0, half_frac=0.01, n_requests=120_000, method=1)
    kept = Simulations(
        cells={
            one.cell.number: Simulated(
                cell=one.cell, overload=one.overload, kind=one.kind, numbers=held, knee=knee
            )
            for one, held, knee in zip(scores, [numbers, freed], [older, None], strict=True)
        },
        versions={0: "0.0.9", 1: "0.1.0"},
    )

    def agree(cells: list[Any], effort: object, **_: object) -> list[Score]:
        assert cells == [one.cell for one in scores]
        return scores

    module = import_module("validation.agreement.__main__")
    monkeypatch.setattr(module, "agree", agree)
    monkeypatch.setattr(module, "read_simulations", lambda: kept)
    return Path(shutil.copy(PAGE, tmp_path))


def test_its_tables_are_written_anew_and_the_words_around_them_stay(page: Path) -> None:
    assert main(["--page", str(page), "--jobs", "1"]) == 0
    text = page.read_text(encoding="utf-8")
    assert section_names(text) == list(TABLES)
    assert "2 of the 300 cells are simulated (2 fcfs, 0 chunked" in text
    assert "by version 0.0.9, 0.1.0,\nwith 0.5 million requests at their loads." in text
    assert "Verdicts of the numeric tier: 1 outside, 1 within.\n" in text
    assert "1 by the older bisection.\nMean TTFT is freed of chance in 1, its 99th percentile in 0." in text
    assert "| numeric: mean_ttft_s at load <= 0.8 | 2 | 0 | 15.5 | 2.0 | 30.0 | 30.0 | 6.0 | missed |" in text
    assert "| fcfs | <= 0.5 | 2 | 1 | 1 | 0 | 15.5 |" in text
    assert text.startswith(PAGE.read_text(encoding="utf-8").split("<!-- table")[0])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--page", "no/such.md"], "no/such.md: cannot be read: no such file"),
        (["--page", __file__], "page: no place for cells; there are none"),
    ],
)
def test_a_page_without_places_is_refused_in_a_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"{said}\n"


def test_without_simulations_there_is_nothing_to_write(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(import_module("validation.agreement.__main__"), "read_simulations", Simulations)
    before = page.read_bytes()
    assert main(["--page", str(page)]) == 2
    assert "no cell is simulated yet" in capsys.readouterr().err
    assert page.read_bytes() == before
