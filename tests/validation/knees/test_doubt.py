"""``python -m validation.knees.doubt``: systems drawn by a rule, rows kept, and one row that is measured."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from qtheory.planning import Knee
from qtheory.planning.knee_errors import KneeError, measured_knees
from qtheory.predict import MODELLED_SCHEDULERS
from validation.knees import doubt
from validation.knees.drawn import SCHEDULERS, System, drawn
from validation.refine import Goal

SMALL = System(
    scheduler="chunked",
    hardware="rtx3050",
    model="llama-3.2-1b",
    tp=1,
    workload="rag",
    arrivals="poisson",
    memory="of the card",
)


def _made(system: System) -> KneeError:
    return KneeError(
        **{name: getattr(system, name) for name in System.__dataclass_fields__},
        binds="slots",
        closed_rps=2.0,
        numeric_rps=None,
        simulated_rps=1.9,
        low_rps=1.88,
        high_rps=1.92,
        n_requests=10,
    )


def test_more_rounds_leave_the_first_as_it_is_and_each_is_balanced() -> None:
    one, two = drawn(1), drawn(2)
    assert two[: len(one)] == one
    assert two[len(one) :] != one
    counts = Counter((system.scheduler, system.memory) for system in one)
    assert set(counts.values()) == {3}
    assert drawn(1, seed=1) != one


def test_tight_memory_holds_the_longest_request() -> None:
    tight = next(system for system in drawn(1) if system.memory == "tight").scenario()
    assert tight.kv_blocks is not None
    assert next(s for s in drawn(1) if s.memory != "tight").scenario().kv_blocks is None


def test_rows_that_are_there_are_kept_and_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[System] = []

    def measured(system: System) -> KneeError:
        asked.append(system)
        return _made(system)

    monkeypatch.setattr(doubt, "measured", measured)
    out = tmp_path / "errors.csv"
    assert doubt.main(["--rounds", "1", "--out", str(out)]) == 0
    first = out.read_bytes()
    n_systems = len(set(drawn(1)))
    assert len(asked) == n_systems
    lines = out.read_text().splitlines()
    out.write_text("\n".join(lines[:-2]) + "\n")
    assert doubt.main(["--rounds", "1", "--out", str(out)]) == 0
    assert len(asked) == n_systems + 2
    assert out.read_bytes() == first
    assert next(csv.DictReader(out.open()))["numeric_rps"] == ""


def test_predictions_are_renewed_and_simulations_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doubt, "measured", _made)
    out = tmp_path / "errors.csv"
    assert doubt.main(["--rounds", "1", "--out", str(out)]) == 0
    knees = {
        "closed": Knee(scheduler="", answered_by="", goodput_frac=0.9, knee_rps=3.0, binds="KV memory"),
        "numeric": Knee(scheduler="", answered_by="", goodput_frac=0.9, knee_rps=2.5, binds="slots"),
    }
    monkeypatch.setattr(doubt, "_predicted", lambda scenario: knees)
    assert doubt.main(["--rounds", "1", "--out", str(out), "--predict"]) == 0
    for row in csv.DictReader(out.open()):
        assert (row["closed_rps"], row["numeric_rps"], row["binds"]) == ("3", "2.5", "slots")
        assert (row["simulated_rps"], row["low_rps"], row["n_requests"]) == ("1.9", "1.88", "10")


def test_what_cannot_be_written_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doubt, "measured", _made)
    assert doubt.main(["--rounds", "0"]) == 2
    assert "n_rounds" in capsys.readouterr().err
    assert doubt.main(["--rounds", "1", "--out", str(tmp_path / "no" / "errors.csv")]) == 2
    assert "errors.csv" in capsys.readouterr().err


@pytest.mark.slow
def test_one_system_is_predicted_twice_and_simulated() -> None:
    found = doubt.measured(SMALL, Goal(precision=0.2))
    assert found.closed_rps == pytest.approx(found.numeric_rps, rel=0.1)
    assert found.low_rps < found.simulated_rps < found.high_rps
    assert abs(found.log_error("numeric")) < 0.1
    assert found.binds == "token budget"


def test_the_table_of_the_package_is_that_of_the_rule() -> None:
    kept = {
        System(**{name: getattr(row, name) for name in System.__dataclass_fields__})
        for row in measured_knees()
    }
    assert kept == set(drawn(doubt.N_ROUNDS))
    assert {system.scheduler for system in kept} == set(SCHEDULERS) <= set(MODELLED_SCHEDULERS)
