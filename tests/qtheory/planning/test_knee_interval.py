"""Intervals of predicted knees: where they come from, when there is none, and what fitted steps add."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.planning import Knee, Theory, knee, knee_errors, marks, with_interval
from qtheory.planning.fleet_doubt import Doubt, doubt_of
from qtheory.planning.knee_errors import KneeError, KnownError, known_error, measured_knees
from qtheory.system.hardware import find_hardware
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "knee.md"
CARD = Scenario(hardware="rtx3050", workload="rag", scheduler="chunked")


def closed(scenario: Scenario, **asked: float) -> Knee:
    return knee(replica_of(scenario), workload_of(scenario), tier="closed", **asked)


def test_the_middle_is_the_prediction_without_its_bias() -> None:
    found = closed(CARD)
    known = doubt_of("theory, closed", found.binds, find_hardware("rtx3050"), scheduler="chunked")
    assert found.knee_rps_low < found.knee_rps < found.knee_rps_high
    middle = math.sqrt(found.knee_rps_low * found.knee_rps_high)
    assert middle == pytest.approx(found.knee_rps / (1 + known.bias_frac))
    assert known.bias_frac != 0


def test_a_higher_level_is_wider_and_the_knee_is_the_same() -> None:
    found = [closed(CARD, level=level) for level in (0.5, 0.9, 0.99)]
    widths = [one.knee_rps_high - one.knee_rps_low for one in found]
    assert widths == sorted(widths)
    assert len({one.knee_rps for one in found}) == 1


def test_few_systems_make_it_wider_than_many() -> None:
    few, many = (Doubt(model_frac=0.02, n_systems=n) for n in (3, 300))
    assert few.interval(10.0, 0.95)[0] < many.interval(10.0, 0.95)[0]
    assert many.interval(10.0, 0.95)[1] == pytest.approx(10 * math.exp(1.96 * 0.02), rel=1e-3)


def test_the_errors_of_the_other_systems_give_an_interval_that_holds_the_knee_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside = {tier: _left_out(tier, monkeypatch) for tier in ("numeric", "closed")}
    assert all(sum(held) >= 0.9 * len(held) >= 27 for held in inside.values())
    said = " and ".join(f"{sum(held)} of {len(held)} ({tier})" for tier, held in inside.items())
    assert f"held its knee for {said}" in " ".join(PAGE.read_text(encoding="utf-8").split())


def _left_out(tier: str, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the interval of each system holds its knee, by the errors of the others."""
    rows, inside = measured_knees(), []
    for place, row in enumerate(rows):
        others = rows[:place] + rows[place + 1 :]
        monkeypatch.setattr(knee_errors, "measured_knees", lambda others=others: others)
        known = known_error.__wrapped__(
            tier, row.scheduler, row.binds == "KV memory", row.arrivals != "poisson"
        )
        if known is None or (error := row.log_error(tier)) is None:
            continue
        doubt = Doubt(bias_frac=known.bias_frac, model_frac=known.spread_frac, n_systems=known.n_systems)
        low, high = doubt.interval(row.simulated_rps * math.exp(error), 0.95)
        inside.append(low <= row.simulated_rps <= high)
    return inside


def test_knees_that_are_not_known_well_say_nothing() -> None:
    row = measured_knees()[0]
    assert replace(row, low_rps=0.5, high_rps=1.5, simulated_rps=1.0).log_error("closed") is None
    assert replace(row, simulated_rps=None).log_error("closed") is None
    sharp = replace(row, closed_rps=2.0, simulated_rps=1.0, low_rps=0.99, high_rps=1.01)
    assert sharp.log_error("closed") == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("changes", "asked", "reason"),
    [
        ({}, {"goodput_frac": 0.95}, "at 90 % good"),
        ({"arrivals": "gamma(cv=3)"}, {}, "not measured with arrivals gamma"),
        ({"arrivals": "constant"}, {}, "not measured with arrivals constant"),
    ],
)
def test_what_was_not_measured_has_no_interval_and_says_so(
    changes: dict[str, str], asked: dict[str, float], reason: str
) -> None:
    found = closed(replace(CARD, **changes), **asked)
    assert found.knee_rps is not None
    assert found.knee_rps_low is None
    assert any(note.startswith("no interval: ") and reason in note for note in found.notes)


def test_bursts_have_a_wider_interval_by_their_own_errors_and_send_to_the_simulator() -> None:
    bursty = closed(replace(CARD, arrivals="gamma(cv=2)"))
    own = known_error("closed", CARD.scheduler, False, True)
    assert own is not None
    middle = math.sqrt(bursty.knee_rps_low * bursty.knee_rps_high)
    assert middle == pytest.approx(bursty.knee_rps / (1 + own.bias_frac), rel=1e-6)
    assert bursty.known_frac > 2 * closed(CARD).known_frac
    assert any("simulate it" in note for note in bursty.notes)
    assert not any("simulate it" in note for note in closed(CARD).notes)


def test_a_scheduler_that_was_not_measured_is_refused() -> None:
    with pytest.raises(ConfigError, match="errors of knees were not measured: fair"):
        doubt_of("theory, closed", None, find_hardware("a100"), scheduler="fair")


def test_fitted_efficiencies_widen_it_and_are_named() -> None:
    plain = Scenario(hardware="a100", model="llama-3.1-8b", workload="rag", scheduler="chunked")
    by_data, fitted = closed(plain), closed(replace(plain, hardware="a100-vllm"))
    assert by_data.known_frac < fitted.known_frac
    assert any("steps of a100-vllm off by" in note for note in fitted.notes)


def test_slower_steps_are_shorter_limits_on_a_slower_clock() -> None:
    slower = 1.1
    lines = [f"linear(base_s={0.01 * c},per_token_s={1e-4 * c})" for c in (1.0, slower)]
    limits = {"ttft_slo_s": 2.0, "tpot_slo_s": 0.05}
    base = replace(CARD, kv_blocks=100_000, **limits)
    slow = closed(replace(base, step_time=lines[1])).knee_rps
    tight = {name: limit / slower for name, limit in limits.items()}
    same = closed(replace(base, step_time=lines[0], **tight)).knee_rps
    assert slow == pytest.approx(same / slower, rel=2e-3)


def test_a_level_that_nobody_reaches_has_no_interval() -> None:
    theory = Theory(replica=replica_of(CARD), workload=workload_of(CARD), scheduler="chunked", tier="closed")
    never = replace(marks(theory), knee_rps=None)
    assert with_interval(never, theory) == never


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_a_level_that_is_none_is_refused(level: float) -> None:
    with pytest.raises(ConfigError, match="level"):
        closed(CARD, level=level)


def test_rows_are_numbers_with_a_system_each() -> None:
    rows = measured_knees()
    keys = {(row.scheduler, row.hardware, row.workload, row.arrivals, row.memory, row.model) for row in rows}
    assert len(keys) == len(rows)
    assert all(isinstance(row, KneeError) and row.n_requests >= 0 for row in rows)


def test_the_page_shows_the_errors_that_are_taken() -> None:
    shown = (
        PAGE.read_text(encoding="utf-8")
        .partition("<!-- table: errors -->\n\n")[2]
        .partition("\n\n<!-- end -->")[0]
    )
    heads = ("memory does not bind", "memory binds", "bursts", "bursts, memory binds")
    lines = [f"| {' | '.join(('tier', *heads))} |", "| --- |" + " --- |" * len(heads)]
    for tier, scheduler in product(("numeric", "closed"), (None, "static")):
        cells = [
            _said(known_error(tier, scheduler, is_tight, is_bursty))
            for is_bursty, is_tight in product((False, True), (False, True))
        ]
        lines.append(f"| {' | '.join([tier if scheduler is None else f'{tier}, {scheduler}', *cells])} |")
    assert shown == "\n".join(lines)


def _said(known: KnownError | None) -> str:
    if known is None:
        return "not measured"
    return f"{100 * known.bias_frac:+.1f} %, sd {100 * known.spread_frac:.1f} % ({known.n_systems})"
