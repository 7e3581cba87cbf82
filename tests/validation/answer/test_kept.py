"""Finished points are kept, whole or not at all, and only for the same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario
from validation import answer
from validation.answer import Run, Study, kept_in, work

SMALL = Scenario(hardware="rtx3050", requests=15)
STUDY = Study(n_replications=2, n_windows=3)
RATES = [1.0, 4.0, 9.0]


def ask(out: Path, *, resume: bool = True, scenario: Scenario = SMALL, study: Study = STUDY) -> list[Run]:
    kept = kept_in(out, resume=resume)
    return answer.sweep(scenario, ["slo"], RATES, study=study, kept=kept)


def same(one: Sequence[Run], other: Sequence[Run]) -> bool:
    return [(run.result, run.values, run.stepwise) for run in one] == [
        (run.result, run.values, run.stepwise) for run in other
    ]


@pytest.fixture(name="out")
def _out(tmp_path: Path) -> Path:
    """A file beside which the points of a whole sweep are kept."""
    ask(tmp_path / "a.json")
    return tmp_path / "a.json"


def partial(out: Path) -> Path:
    return out.with_name("a.json.partial")


def test_kept_points_are_not_simulated_again_and_say_the_same(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = answer.sweep(SMALL, ["slo"], RATES, study=STUDY)
    before = partial(out).read_bytes()
    assert before.count(b"\n") == 3
    monkeypatch.setattr(work, "replicate", None)
    assert same(ask(out), fresh)
    assert partial(out).read_bytes() == before


@pytest.mark.parametrize("n_left", [1, 20, 500])
def test_a_last_line_that_was_cut_is_dropped_and_made_again(out: Path, n_left: int) -> None:
    whole = partial(out).read_bytes()
    lines = whole.splitlines(keepends=True)
    partial(out).write_bytes(b"".join(lines[:-1]) + lines[-1][:n_left])
    assert same(ask(out), answer.sweep(SMALL, ["slo"], RATES, study=STUDY))
    assert partial(out).read_bytes() == whole


def test_what_cannot_be_told_apart_by_a_row_comes_back(tmp_path: Path) -> None:
    scenario = Scenario(
        hardware="rtx3050", arrivals="closed(concurrency=2)", requests=15, ttft_slo_s=float("inf")
    )
    kept = kept_in(tmp_path / "a.json", resume=True)
    fresh = answer.compare(scenario, ["fcfs"], study=STUDY, kept=kept)
    assert same(answer.compare(scenario, ["fcfs"], study=STUDY, kept=kept), fresh)


@pytest.mark.parametrize(
    ("scenario", "study"),
    [
        (replace(SMALL, seed=1), STUDY),
        (replace(SMALL, kv_blocks=5000), STUDY),
        (SMALL, replace(STUDY, n_replications=3)),
        (SMALL, replace(STUDY, level=0.9)),
    ],
)
def test_points_of_another_question_are_refused(out: Path, scenario: Scenario, study: Study) -> None:
    before = partial(out).read_bytes()
    with pytest.raises(ConfigError, match=r"a\.json\.partial: line 1 is of another scenario"):
        ask(out, scenario=scenario, study=study)
    assert partial(out).read_bytes() == before


def test_a_file_that_the_scenario_names_counts_with_its_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lengths = Path("lengths.csv")
    lengths.write_text("prompt_tokens,output_tokens\n100,10\n200,5\n")
    scenario = replace(SMALL, lengths="lengths.csv")
    ask(Path("a.json"), scenario=scenario)
    ask(Path("a.json"), scenario=scenario)
    lengths.write_text("prompt_tokens,output_tokens\n100,10\n200,6\n")
    with pytest.raises(ConfigError, match="another scenario"):
        ask(Path("a.json"), scenario=scenario)


@pytest.mark.parametrize("line", [b"[1, 2]\n", b"{cut\n", b"\n", b"\xff\xfe\n"])
def test_a_line_that_is_no_point_is_named(out: Path, line: bytes) -> None:
    partial(out).write_bytes(partial(out).read_bytes() + line)
    with pytest.raises(ConfigError, match=r"line 4 is not one of a finished point"):
        ask(out)


def test_without_resume_the_file_is_begun_anew(out: Path) -> None:
    partial(out).write_bytes(b"anything")
    ask(out, resume=False)
    assert partial(out).read_bytes().count(b"\n") == 3
