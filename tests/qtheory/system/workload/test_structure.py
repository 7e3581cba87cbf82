"""Prefixes, conversations and tenants: what they do to requests, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant
from qtheory.system.scenario import Scenario
from qtheory.system.workload import (
    Requests,
    SharedPrefix,
    Structure,
    find_profile,
    parse_conversations,
    parse_prefixes,
    parse_tenants,
    workload_of,
)

TALKS = "turns(n=uniform(low=1, high=6), think_s=exponential(mean=20), message=constant(value=40))"


def asked(seed: int = 1, **fields: Any) -> Requests:
    scenario = Scenario(**{"requests": 300, "rate_rps": 5.0, **fields})
    return workload_of(scenario).generate(np.random.default_rng(seed))


def test_the_share_of_the_k_th_text_goes_down_as_k_to_the_power() -> None:
    prefix = SharedPrefix(tokens=Constant(value=50), n=6, zipf=0.9)
    shares = prefix.popularity()
    assert shares[0] / shares == pytest.approx(np.arange(1, 7) ** 0.9)
    n = 20_000
    picks, _ = prefix.choose(np.random.default_rng(3), n)
    seen = np.bincount(picks, minlength=6) / n
    assert np.all(np.abs(seen - shares) <= 4 * np.sqrt(shares * (1 - shares) / n))


def test_a_text_has_one_length_whoever_begins_with_it() -> None:
    (prefix,) = parse_prefixes("shared(tokens=lognormal(mean=500, cv=1), n=20, zipf=1)")
    picks, tokens = prefix.choose(np.random.default_rng(3), 1000)
    assert all(len(set(tokens[picks == text].tolist())) <= 1 for text in range(20))
    assert len(set(tokens.tolist())) > 5
    shorter = prefix.choose(np.random.default_rng(3), 10)
    assert (shorter[0].tolist(), shorter[1].tolist()) == (picks[:10].tolist(), tokens[:10].tolist())


def test_prefixes_are_part_of_prompts_and_change_no_length() -> None:
    plain, dressed = asked(), asked(prefix="shared(tokens=200) + shared(tokens=300, n=4)")
    assert plain.text_runs is None
    runs = dressed.text_runs
    assert runs is not None
    assert dressed.prompt_tokens.tolist() == plain.prompt_tokens.tolist()
    assert dressed.arrival_s.tolist() == plain.arrival_s.tolist()
    for row, prompt in enumerate(dressed.prompt_tokens.tolist()):
        found = runs.prompt(row)
        assert found[0] == (0, 0, min(prompt, 200))
        assert sum(n for _, _, n in found) == min(prompt, 500)
        assert all(1 <= text <= 4 for text, _, _ in found[1:])


def test_each_turn_begins_with_all_that_was_said_before() -> None:
    requests = asked(conversations=TALKS, prefix="shared(tokens=100, n=3)", prompt="constant(250)")
    runs, after = requests.text_runs, requests.after
    assert runs is not None
    assert after is not None
    assert requests.think_s is not None
    assert len(requests) == 300
    followers = np.flatnonzero(after >= 0)
    assert 100 < len(followers) < 260
    for row in followers.tolist():
        before = int(after[row])
        said = requests.prompt_tokens[before] + requests.output_tokens[before]
        assert requests.prompt_tokens[row] == said + 40
        (prefix, (text, start, n)), old = runs.prompt(row), runs.prompt(before)
        assert old == [prefix, (text, 0, n - 40 - requests.output_tokens[before])]
        assert (runs.output_texts[before], runs.output_starts[before]) == (text, old[1][2])
        assert start == 0
        assert requests.arrival_s[row] == requests.arrival_s[before]
    firsts = after < 0
    assert set(requests.prompt_tokens[firsts].tolist()) == {250}
    assert not requests.think_s[firsts].any()
    assert requests.think_s[followers].mean() == pytest.approx(20, abs=4 * 20 / math.sqrt(len(followers)))


def test_the_rate_of_conversations_is_that_of_all_requests() -> None:
    requests = asked(conversations="turns(n=4, think_s=0)", requests=None, duration_s=2000.0)
    n_sessions = len(requests) / 4
    assert abs(n_sessions - 2500) <= 4 * math.sqrt(2500)
    assert requests.arrival_s[-1] < 2000
    cut = asked(conversations="turns(n=4, think_s=0)", requests=10)
    assert cut.after is not None
    assert cut.after.tolist() == [-1, 0, 1, 2, -1, 4, 5, 6, -1, 8]


def test_the_turns_of_a_conversation_have_one_tenant() -> None:
    text = "tenant(share=1, ttft_slo_s=0.5) + tenant(share=3, priority=2, weight=4)"
    requests = asked(conversations=TALKS, tenants=text, workload="chat", requests=2000)
    after, client = requests.after, requests.client
    assert after is not None
    assert client is not None
    assert requests.priority is not None
    assert requests.ttft_slo_s is not None
    assert requests.tpot_slo_s is not None
    followers = np.flatnonzero(after >= 0)
    assert client[followers].tolist() == client[after[followers]].tolist()
    firsts = client[after < 0]
    assert abs(firsts.mean() - 0.75) <= 4 * math.sqrt(0.1875 / len(firsts))
    assert requests.priority.tolist() == (2 * client).tolist()
    assert requests.ttft_slo_s.tolist() == np.where(client == 0, 0.5, 2.0).tolist()
    assert set(requests.tpot_slo_s.tolist()) == {0.2}
    assert asked(tenants="tenant(1) + tenant(2)").tpot_slo_s is None


def test_structure_leaves_arrivals_and_lengths_as_they_were() -> None:
    plain, dressed = asked(), asked(tenants="tenant(1) + tenant(2)", prefix="shared(50)")
    for name in ("arrival_s", "prompt_tokens", "output_tokens"):
        assert getattr(plain, name).tolist() == getattr(dressed, name).tolist()


def test_documents_of_rag_belong_to_its_own_prompts() -> None:
    assert find_profile("rag").prefixes == workload_of(Scenario(workload="rag")).structure.prefixes != ()
    assert not workload_of(Scenario(workload="rag", prompt="constant(100)")).structure
    assert not workload_of(Scenario(workload="rag", prefix="none")).structure
    assert not workload_of(Scenario(workload="chat")).structure


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_prefixes, "shared(tokens=1000, n=10, zipf=0.9)"),
        (parse_prefixes, "shared(tokens=gamma(mean=90, cv=2), n=7)"),
        (parse_conversations, "turns(n=5, think_s=exponential(mean=30), message=80)"),
        (parse_conversations, "turns(n=5, think_s=0)"),
        (parse_conversations, "agent(steps=10, tool_s=2, result=500)"),
        (parse_tenants, "tenant(share=0.25, priority=1, weight=2, ttft_slo_s=1, tpot_slo_s=0.1)"),
    ],
)
def test_what_is_spelled_reads_back_the_same(parse: Callable[[str], Any], text: str) -> None:
    value = parse(text)
    assert str(value[0] if isinstance(value, tuple) else value) == text


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_prefixes, "shard(100)", r"prefix: unknown 'shard' \(did you mean 'shared'\?\); write shared"),
        (parse_prefixes, "100", "prefix: '100' is a number; write shared"),
        (parse_prefixes, "shared(tokens=0)", "prefix: shared: tokens: value: 0 must be > 0"),
        (parse_prefixes, "shared(n=3)", "prefix: shared: tokens is needed"),
        (parse_prefixes, "shared(100, n=2.5)", "prefix: shared: n: 2.5 must be a whole number"),
        (parse_prefixes, "shared(100, n=20000000)", "prefix: shared: n: .*at most 10,000,000"),
        (parse_prefixes, "shared(100, zipf=1e308)", "prefix: shared: zipf: .* at most 100"),
        (parse_prefixes, "shared(100, zipf=-1)", "prefix: shared: zipf: -1 must be >= 0"),
        (parse_prefixes, "shared(100, zpif=1)", r"unknown parameter 'zpif' \(did you mean 'zipf'\?\)"),
        (parse_prefixes, "shared(100, 3)", "prefix: shared: write the parameters by name"),
        (parse_prefixes, "shared(100) +", "prefix: '' cannot be read"),
        (parse_conversations, "turns(n=5)", "conversations: turns: think_s is needed"),
        (parse_conversations, "turns(5, think_s=-1)", "conversations: turns: think_s: value: -1 must be > 0"),
        (parse_conversations, "turns(n=0, think_s=1)", "conversations: turns: n: value: 0 must be > 0"),
        (parse_conversations, "agent(1, tool_s=1) + agent(2, tool_s=1)", "names 2 kinds; give one"),
        (parse_tenants, "tenant(share=0)", "tenants: tenant: share: 0 must be > 0"),
        (
            parse_tenants,
            "tenant(1, priority=-1)",
            "tenants: tenant: priority: -1 must be a whole number >= 0",
        ),
        (parse_tenants, "tenant(share=gamma(mean=1, cv=1))", "tenants: tenant: share: a finite number"),
        (parse_tenants, "tenant(1, ttft_slo_s=0)", "tenants: tenant: ttft_slo_s: 0 must be > 0"),
    ],
)
def test_a_text_that_is_wrong_is_answered_with_what_would_be_right(
    parse: Callable[[str], Any], text: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        parse(text)


def test_what_contradicts_the_load_is_refused() -> None:
    with pytest.raises(ConfigError, match="conversations: begin at open arrivals"):
        workload_of(Scenario(conversations=TALKS, arrivals="closed(concurrency=4)", requests=5))
    rng = np.random.default_rng(1)
    own = Requests(arrival_s=[0.0], prompt_tokens=[5], output_tokens=[5], client=[3])
    with pytest.raises(ConfigError, match="tenants: given together with a trace"):
        Structure(tenants=parse_tenants("tenant(1)")).dress(own, None, rng, find_profile("chat").slo)


def test_few_requests_of_long_conversations_need_little_memory() -> None:
    talks = parse_conversations("turns(n=90000, think_s=0)")
    turns = talks.draw(np.random.default_rng(1), 10)
    assert turns.after.tolist() == list(range(-1, 9))
    with pytest.raises(ConfigError, match="conversations: 450,000,000 requests in 5,000 conversations"):
        talks.draw(np.random.default_rng(1), n_sessions=5000)


def test_a_time_in_which_nothing_begins_has_no_requests() -> None:
    requests = asked(
        conversations=TALKS, tenants="tenant(1) + tenant(2)", prefix="shared(9)", requests=None,
        duration_s=1e-6,
    )  # fmt: skip
    assert len(requests) == 0


def test_a_length_beyond_all_prompts_is_cut_to_them() -> None:
    (prefix,) = parse_prefixes("shared(tokens=lognormal(mean=1e9, cv=1000), n=50, zipf=100)")
    picks, tokens = prefix.choose(np.random.default_rng(1), 20)
    assert set(picks.tolist()) == {0}
    assert tokens.min() >= 1
