"""How sure a knee is: what its interval is, what that rests on, and which knees it does not tell apart."""

from __future__ import annotations

from typing import Any

from qtheory.planning import Knee
from validation.cli._knee_sure import certainty, close_to


def known(name: str, rate: float, half: float | None, **more: Any) -> Knee:
    low, high = (None, None) if half is None else (rate - half, rate + half)
    said = {"scheduler": name, "answered_by": "theory, numeric", "goodput_frac": 0.9, "knee_rps": rate}
    return Knee(**{**said, "knee_rps_low": low, "knee_rps_high": high, **more})


def test_a_prediction_says_its_interval_and_what_it_rests_on() -> None:
    notes = ("memory runs out", "interval at 95 %: this tier was +2 % off")
    assert certainty(known("fcfs", 4.0, 0.5, notes=notes), 0.95) == (
        "Predicted (theory, numeric): at 95 % between 3.5 and 4.5 req/s: this tier was +2 % off. "
        "--refine simulates it."
    )


def test_a_prediction_without_an_interval_says_why() -> None:
    notes = ("no interval: errors were not measured",)
    assert "without an interval: errors were not measured." in certainty(
        known("fcfs", 4.0, None, notes=notes), 0.95
    )


def test_a_simulation_says_what_it_took() -> None:
    found = known("fair", 4.0, 0.05, answered_by="simulation", n_requests=52_000)
    assert certainty(found, 0.9) == "Simulated: 4.00 ±0.05 req/s at 90 %, with 52,000 requests."


def test_knees_whose_intervals_meet_are_not_told_apart() -> None:
    best, near, far = known("slo", 4.0, 0.5), known("sjf", 3.2, 0.4), known("fcfs", 3.0, 0.4)
    alone = known("fair", 3.9, None)
    assert close_to(best, [near, best, far, alone]) == ["sjf"]
    assert close_to(known("slo", 4.0, None), [near, far]) == []
