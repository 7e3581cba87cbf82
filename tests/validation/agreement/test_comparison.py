"""Cells are chosen by level or number, done in order, and kept as they are finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.agreement import Effort, KeptCells, Score, Simulated, agree, cells_of, chosen
from validation.agreement.grid import Cell, fresh

EFFORT = Effort(first_requests=1_000, most_requests=1_000, overload_requests=1_000, knee_requests=0)


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the cells that were scored; scoring itself is left out."""
    seen: list[int] = []

    def score(cell: Cell, effort: Effort, simulated: Simulated | None) -> Score:
        seen.append(cell.number)
        return Score(cell=cell, overload=None, kind=simulated.kind if simulated else "not asked for")

    monkeypatch.setattr("validation.agreement.comparison.score", score)
    return seen


def test_designs_go_by_name_and_only_the_fresh_one_has_a_seed() -> None:
    assert cells_of("fresh", seed=9) == fresh(9)
    with pytest.raises(ConfigError, match=r"^--seed: 9 given, but the cells of quick are fixed"):
        cells_of("quick", seed=9)
    with pytest.raises(ConfigError, match=r"did you mean 'fresh'"):
        cells_of("fress")


def test_levels_of_one_factor_add_up_and_those_of_two_narrow_down() -> None:
    cells = cells_of("full")
    either = chosen(cells, ["fcfs", "slo"])
    assert len(either) == 100
    both = chosen(cells, ["fcfs", "slo", "tight"])
    assert {(c.scheduler, c.memory) for c in both} == {("fcfs", "tight"), ("slo", "tight")}
    assert [c.number for c in chosen(cells, ["17", "4"])] == [4, 17]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tigth"], r"^--only: no cell has 'tigth' \(did you mean 'tight'\?\)"),
        (["300"], r"^--only: no cell has '300'"),
        (["0.85"], r"levels such as chunked, .*, ample, tight, 0\.2, .*, 1\.5$"),
        (["0", "slo"], r"^--only: no cell has all of '0', 'slo'"),
    ],
)
def test_a_level_that_is_not_there_is_answered_with_one_that_is(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen(cells_of("full"), words)


def test_finished_cells_are_not_done_again_and_a_cut_line_is(tmp_path: Path, scored: list[int]) -> None:
    cells = cells_of("full")[:4]
    path = tmp_path / "a.partial"
    first = agree(cells[:3], EFFORT, kept=KeptCells(path=path, resume=False))
    with path.open("ab") as file:
        file.write(b'{"key": "cut in the mid')
    scored.clear()
    again = agree(cells, EFFORT, kept=KeptCells(path=path, resume=True))
    assert scored == [cells[3].number]
    assert again[:3] == first
    assert [one.cell for one in again] == cells


def test_cells_of_another_comparison_are_refused_and_begun_anew_if_asked(
    tmp_path: Path, scored: list[int]
) -> None:
    path, cells = tmp_path / "a.partial", cells_of("full")
    agree(cells[:2], EFFORT, kept=KeptCells(path=path, resume=False))
    with pytest.raises(ConfigError, match=r"line 1 is not a cell of this comparison"):
        agree(cells[2:4], EFFORT, kept=KeptCells(path=path, resume=True))
    agree(cells[2:4], EFFORT, kept=KeptCells(path=path, resume=False))
    assert path.read_bytes().count(b"\n") == 2


def test_simulated_sides_go_to_the_cells_that_they_are_of(scored: list[int]) -> None:
    cells = cells_of("full")[:3]
    known = {1: Simulated(cell=cells[1], overload=None, kind="known")}
    found = agree(cells, EFFORT, simulated=known)
    assert [one.kind for one in found] == ["not asked for", "known", "not asked for"]
    assert scored == [0, 1, 2]
