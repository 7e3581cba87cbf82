"""Simulations are kept as they are, found again, and refused if they are of another design or simulator."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from validation.agreement import (
    Simulated,
    Simulations,
    add_simulations,
    full,
    read_simulations,
    simulate_cell,
    simulate_more,
    to_simulate,
)
from validation.agreement._knee_simulated import SimulatedKnee
from validation.agreement.capacity import Overload
from validation.agreement.effort import EFFORTS
from validation.agreement.simulations import SIMULATIONS, line_of

CELLS = full()
KNEE = SimulatedKnee(rate_rps=2.0, half_frac=0.01, n_requests=120_000)
_MOST_BYTES = 400_000


def made(number: int, **changes: object) -> Simulated:
    one = Simulated(
        cell=CELLS[number],
        overload=Overload(rate_rps=3.0, error_rps=0.01, limit_rps=3.01, limit_error_rps=0.004),
        kind="steady state",
        n_requests=20_000,
        numbers={"rate_rps": 1.5, "mean_ttft_s": 0.25, "mean_ttft_s_half": 0.01},
        knee=KNEE,
    )
    return replace(one, **changes)  # type: ignore[arg-type]


REFUSED = made(7, overload=None, kind="cannot be served", n_requests=None, numbers={}, knee=None)
BLURRED = made(9, knee=replace(KNEE, rate_rps=None, half_frac=math.inf))


def test_what_is_kept_comes_back_as_it_was_in_the_order_of_the_design(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    some = [BLURRED, made(4), REFUSED]
    add_simulations(some, path)
    assert read_simulations(path).cells == {one.cell.number: one for one in some}
    assert [json.loads(line)[0] for line in path.read_text().splitlines()[1:]] == [4, 7, 9]


def test_a_cell_that_is_simulated_again_takes_the_place_of_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    add_simulations([made(4), made(5)], path)
    add_simulations([made(5, kind="undecided")], path)
    assert {number: one.kind for number, one in read_simulations(path).cells.items()} == {
        4: "steady state",
        5: "undecided",
    }


def test_numbers_have_ten_digits() -> None:
    one = made(4, numbers={"mean_ttft_s": 1.0 / 3.0}, knee=replace(KNEE, rate_rps=2.0 / 3.0))
    line = line_of(one, "1.2.3")
    assert "0.3333333333," in line
    assert "0.6666666667," in line


def _with(place: int, change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda lines: [change(line) if n == place else line for n, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_with(0, lambda line: line.replace('"simulator": 1', '"simulator": 0')), "line 1: kept by another"),
        (
            _with(2, lambda line: line.replace("0.01,120000,3,", "0.01,120000,4,")),
            "line 3: the knee is by another method",
        ),
        (
            _with(0, lambda line: line.replace("600000", "500000")),
            "line 1: kept by another simulator, with an",
        ),
        (
            _with(1, lambda line: line.replace(line.split(",")[1], '"01234567"')),
            "line 2: cell 4 is not that of",
        ),
        (_with(2, lambda line: line.replace("[5", "[4", 1)), "line 3: cell 4 is not that of the design now"),
        (_with(2, lambda line: line.replace("[5", "[500", 1)), "line 3: is not a simulated cell"),
        (_with(2, lambda line: line[:-20]), "line 3: is not a simulated cell"),
        (_with(2, lambda line: "[1,2]"), "line 3: is not a simulated cell"),
        (lambda lines: [*lines, lines[1]], "line 4: cell 4 is there twice"),
    ],
)
def test_another_simulator_design_or_effort_is_refused_in_a_line(
    tmp_path: Path, change: Callable[[list[str]], list[str]], said: str
) -> None:
    path = tmp_path / "kept.jsonl"
    add_simulations([made(4), made(5)], path)
    path.write_text("\n".join(change(path.read_text().splitlines())))
    before = path.read_bytes()
    with pytest.raises(ConfigError) as caught:
        add_simulations([made(6)], path)
    assert f"{path}: {said}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_the_next_cells_are_of_all_schedulers_and_none_that_is_there() -> None:
    first = to_simulate(CELLS, Simulations(), 6)
    assert len({cell.scheduler for cell in first}) == 6
    kept = Simulations(cells={cell.number: made(cell.number) for cell in first})
    then = to_simulate(CELLS, kept, 6)
    assert len({cell.scheduler for cell in then}) == 6
    assert not {cell.number for cell in then} & kept.cells.keys()
    assert len(to_simulate(CELLS, kept, 1_000)) == 294


def test_each_cell_is_kept_when_it_is_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.jsonl"
    seen = []

    def simulate(cell: object, effort: object) -> Simulated:
        assert effort == EFFORTS["full"]
        seen.append(len(read_simulations(path).cells))
        return made(CELLS.index(cell))  # type: ignore[arg-type]

    monkeypatch.setattr(import_module("validation.agreement.more"), "simulate_cell", simulate)
    done: list[tuple[int, int]] = []
    simulate_more(CELLS[:3], progress=lambda n, of: done.append((n, of)), path=path)
    assert (seen, done) == ([0, 1, 2], [(1, 3), (2, 3), (3, 3)])


def test_a_kept_cell_that_lacks_its_knee_comes_first_and_keeps_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.jsonl"
    few = made(6, n_requests=300, knee=None)  # out of reach
    older = made(3, knee=replace(KNEE, method=1))
    add_simulations([older, made(4, knee=None), made(5), few, REFUSED], path)
    kept = read_simulations(path)
    *first, then = to_simulate(CELLS, kept, 3)
    assert sorted(cell.number for cell in first) == [3, 4]
    assert then.number not in kept.cells
    monkeypatch.setattr(import_module("validation.agreement.more"), "simulate_cell", None)
    monkeypatch.setattr(
        import_module("validation.agreement.simulated"), "simulate_knee", lambda *_, **__: KNEE
    )
    simulate_more(first, path=path)
    assert read_simulations(path).cells == {3: made(3), 4: made(4), 5: made(5), 6: few, 7: REFUSED}


def test_a_place_that_cannot_be_written_is_told_before_anything_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("validation.agreement.more"), "simulate_cell", None)
    with pytest.raises(ConfigError, match=r"no/kept\.jsonl: cannot be written \(No such file"):
        simulate_more(CELLS[:1], path=tmp_path / "no" / "kept.jsonl")


def test_what_the_package_keeps_is_of_the_design_and_written_as_it_is_now() -> None:
    kept = read_simulations()
    lines = SIMULATIONS.read_text().splitlines()[1:]
    assert lines == [line_of(one, kept.versions[number]) for number, one in kept.cells.items()]
    assert list(kept.cells) == sorted(kept.cells)
    assert SIMULATIONS.stat().st_size < _MOST_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "with_knee"), [(79, True), (50, False)], ids=["all of it in overload", "a steady state"]
)
def test_a_cell_that_is_simulated_now_gives_the_bytes_that_are_kept(number: int, with_knee: bool) -> None:
    kept = read_simulations()
    effort, wanted = EFFORTS["full"], kept.cells[number]
    if not with_knee:
        effort, wanted = replace(effort, knee_requests=0), replace(wanted, knee=None)
    now, then = (
        line_of(one, kept.versions[number]) for one in (simulate_cell(CELLS[number], effort), wanted)
    )
    assert now == then
