"""The picture of claims: a panel for each that has measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from validation.cli._claims_plot import draw_points
from validation.cli.app import main

DATA = Path(__file__).parents[2] / "data" / "claims"


def _point(claim: str, unit: str, **other: Any) -> dict[str, Any]:
    point = {"claim": claim, "unit": unit, "metric": "rate", "route": "theory", "measured": 2.0, "found": 3.0}
    return point | other


def test_ratios_are_drawn_for_times_and_differences_for_shares() -> None:
    points = [
        _point("a", "s"),
        _point("a", "s", route="simulation", found=1.0),
        _point("b", "points", measured=90.0, found=86.0),
    ]
    figure = draw_points(points)
    first, second = figure.axes
    assert [np.asarray(line.get_ydata()).tolist() for line in first.lines[:2]] == [[1.5], [0.5]]
    assert np.asarray(second.lines[0].get_ydata()).tolist() == [-4.0]
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("a", "b")
    assert (first.get_yscale(), second.get_yscale()) == ("log", "linear")


def test_nothing_measured_is_nothing_to_draw() -> None:
    with pytest.raises(ConfigError, match="no claim that was answered has measurements"):
        draw_points([])


def test_the_flag_writes_the_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "claims.svg"
    words = ["validate", "claims", "sarathi-chunks", "--data", str(DATA), "--plot", str(path)]
    assert main(words) == 1  # as it is missed
    assert "0 passed, 1 failed" in capsys.readouterr().out
    assert "sarathi-chunks" in path.read_text(encoding="utf-8")
