"""A simulated knee says why it took long, as a run does."""

from __future__ import annotations

import json

import pytest

from validation.cli.app import main

WORDS = "knee --hardware rtx3050 --schedulers disaggregated --tier sim --requests 60 --precision 0.5"


@pytest.mark.parametrize(
    ("more", "is_slow"), [("--layerwise-transfer", True), ("--decode-replicas 2", False)]
)
def test_a_knee_of_runs_that_went_step_by_step_says_so(
    more: str, is_slow: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(f"{WORDS} {more} --format json".split()) == 0
    [row] = json.loads(capsys.readouterr().out)["result"]
    said = [note for note in row["notes"] if note.startswith("slow: runs step by step")]
    assert bool(said) == is_slow
    assert all("layers sent one by one" in note for note in said)
