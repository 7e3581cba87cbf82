"""The presets of engines that the fast engine runs give the records of the reference engine."""

from __future__ import annotations

import pytest

from sim import engine
from validation.engines import PRESETS, check_engines, draw_case

LEAST_SHARES = {"preempts": 0.1, "cuts prompts": 0.1, "hits a slot or block gate": 0.2}


def _agree(seeds: range, capsys: pytest.CaptureFixture[str]) -> None:
    agreement = check_engines(seeds, PRESETS)
    with capsys.disabled():
        print(f"\n{agreement.summary()}")
    assert not agreement.unequal
    for rule, share in LEAST_SHARES.items():
        assert agreement.reached[rule] >= share * agreement.n_cases, rule


def test_the_engines_agree_on_250_random_cases_of_the_presets(capsys: pytest.CaptureFixture[str]) -> None:
    _agree(range(250), capsys)


@pytest.mark.slow
def test_the_engines_agree_on_2000_more_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    _agree(range(20_000, 22_000), capsys)


def test_every_preset_runs_in_the_fast_engine_in_most_cases() -> None:
    fast: dict[str, list[bool]] = {}
    for seed in range(250):
        case = draw_case(seed, schedulers=PRESETS)
        stepwise = engine.why_stepwise(case.requests, case.policy, case.replica)
        fast.setdefault(case.policy.name, []).append(stepwise is None)
    assert {name: sum(ran) > len(ran) / 2 for name, ran in fast.items()} == dict.fromkeys(PRESETS, True)
