"""Schedulers with options, as people write them."""

from __future__ import annotations

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import SCHEDULERS, SchedulerSpec
from qtheory.system.scheduler_text import parse_scheduler


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_name_alone_is_a_scheduler_without_options(name: str) -> None:
    assert parse_scheduler(name) == parse_scheduler(f"{name}()") == SchedulerSpec(name=name)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("vllm-v0(watermark_frac=0.02)", {"watermark_frac": 0.02}),
        ("cache_aware(composition=prefill_first_chunked)", {"composition": "prefill_first_chunked"}),
        ("sglang(cache_order=dfs-weight, in_batch=skip)", {"cache_order": "dfs-weight", "in_batch": "skip"}),
        ("fair(client_weights=[1, 2.5], output_weight=0)", {"client_weights": (1, 2.5), "output_weight": 0}),
        ("chunked(chunked_prefill=false)", {"chunked_prefill": False}),
    ],
)
def test_options_are_numbers_words_lists_or_truths(text: str, options: dict[str, object]) -> None:
    assert parse_scheduler(text).options() == options


def test_what_a_text_says_wins_over_what_is_usual() -> None:
    spec = parse_scheduler("chunked(max_seqs=7)", max_seqs=128, budget_tokens=512)
    assert (spec.max_seqs, spec.budget_tokens) == (7, 512)
    assert replica_of(Scenario(scheduler="chunked(max_seqs=7)")).scheduler.max_seqs == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chunkd(max_seqs=7)", r"scheduler: unknown 'chunkd' \(did you mean 'chunked'\?\)"),
        ("chunked(max_seq=7)", r"scheduler: chunked: unknown option 'max_seq' \(did you mean 'max_seqs'\?\)"),
        ("chunked(max_seqs=0)", "scheduler: chunked: max_seqs: 0 must be"),
        ("chunked(7)", "is neither a name nor name"),
        ("chunked(max_seqs=7", "is neither a name nor name"),
        (
            "sglang(cache_order=lmp)",
            r"scheduler: sglang: cache_order: unknown 'lmp' \(did you mean 'lpm'\?\)",
        ),
        ("fair(client_weights=[1, -2])", r"scheduler: fair: client_weights\[1\]: -2 must be > 0"),
        ("disagregated(max_seqs=1)", r"scheduler: unknown 'disagregated' \(did you mean 'disaggregated'\?\)"),
    ],
)
def test_a_text_that_is_wrong_is_answered_with_what_would_be_right(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_scheduler(text)


def test_a_scheduler_that_orders_by_cached_prefix_has_a_cache_unless_told_otherwise() -> None:
    def has_cache(**fields: object) -> bool:
        return replica_of(Scenario(**fields)).prefix_cache  # type: ignore[arg-type]

    assert has_cache(scheduler="cache_aware")
    assert has_cache(scheduler="sglang(cache_order=lpm)")
    assert has_cache(prefix_cache=True)
    assert not has_cache(scheduler="sglang")
    assert not has_cache()
    assert not has_cache(scheduler="cache_aware", prefix_cache=False)


def test_fair_serves_tenants_by_their_weights_unless_it_has_its_own() -> None:
    tenants = "tenant(share=1, weight=2) + tenant(share=1)"
    assert replica_of(Scenario(scheduler="fair", tenants=tenants)).scheduler.client_weights == (2, 1)
    own = Scenario(scheduler="fair(client_weights=[1, 3])", tenants=tenants)
    assert replica_of(own).scheduler.client_weights == (1, 3)
    assert replica_of(Scenario(tenants=tenants)).scheduler.client_weights is None
