"""What answers: theory where it covers a question, else simulation, with the reason."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError, ConvergenceError
from qtheory.system.scenario import Scenario
from validation.knees import ask, asked_of, knees
from validation.refine import Goal

CARD = Scenario(hardware="rtx3050", workload="rag")
SHORT = Scenario(hardware="rtx3050", workload="rag", requests=24, ttft_slo_s=1.0)


def test_each_scheduler_says_whether_it_is_covered() -> None:
    reasons = [
        one.why_simulated
        for one in asked_of(CARD, ["chunked", "fair", "slo(shed=none)", "slo(chunk_size=slack)"])
    ]
    assert reasons == [None, "no model of fair", "no model of shed=none", "no model of chunk_size=slack"]


def test_a_prefix_cache_without_shared_prefixes_changes_nothing() -> None:
    cached = Scenario(hardware="rtx3050", workload="rag", prefix_cache=True, prefix="none")
    assert asked_of(cached, ["chunked"])[0].why_simulated is None
    shared = Scenario(hardware="rtx3050", workload="rag", prefix_cache=True, prefix="shared(tokens=64)")
    assert asked_of(shared, ["chunked"])[0].why_simulated == "no model of a prefix cache"


def test_where_the_tier_has_no_answer_it_is_simulated_and_the_reason_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise ConvergenceError("no law was found")

    monkeypatch.setattr(ask, "knee", refuses)
    (found,) = knees(asked_of(SHORT, ["chunked"]), goal=Goal(precision=0.5))
    assert found.answered_by == "simulation"
    assert found.notes[0] == "simulated: numeric tier: no law was found"
    assert found.knee_rps is not None


def test_a_length_that_a_prediction_does_not_use_is_said() -> None:
    (found,) = knees(asked_of(SHORT, ["chunked"]), tier="closed")
    assert "requests is not used" in found.notes[-1]


def test_progress_counts_schedulers() -> None:
    seen: list[tuple[int, int]] = []
    knees(asked_of(CARD, ["fcfs", "chunked"]), tier="closed", progress=lambda done, n: seen.append((done, n)))
    assert seen == [(1, 2), (2, 2)]


def test_a_load_without_a_rate_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no rate, so no knee"):
        asked_of(Scenario(arrivals="closed(concurrency=4, think_s=0)", requests=10), ["fcfs"])


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(ConfigError, match="tier"):
        asked_of(CARD, ["fcfs"], tier="simulate")
