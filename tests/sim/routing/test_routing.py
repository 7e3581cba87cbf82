"""Routers: rules, ties, draws, and what they remember."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.system.cluster import ROUTERS, ClusterSpec, RouterSpec, parse_router
from sim.kvcache import Chains
from sim.routing import (
    BlindRouter,
    CacheAware,
    Candidate,
    ExploitExplore,
    Freeness,
    KvCost,
    LeastRequests,
    LeastTokens,
    Load,
    PowerOfTwo,
    PrefixIndex,
    RandomChoice,
    RoundRobin,
    make_router,
)

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)
TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=25)


@dataclass
class Seen:
    index: int
    load: Load = field(default_factory=Load)
    cached: int = 0

    def cached_tokens(self, asked):
        return self.cached


@dataclass
class Prompt:
    prompt_tokens: int = 100
    keys: tuple[int, ...] = ()
    block_tokens: int = 1
    may_be_cached: bool = True

    @property
    def shared_keys(self):
        return self.keys


@dataclass
class _Growing:
    """A load of which more is found where it is looked at."""

    least_blocks: int
    grown: int
    wanted_blocks: int

    @property
    def used_blocks(self):
        return self.least_blocks + self.grown


def workers(*n_requests):
    return [Seen(index, Load(n_requests=n)) for index, n in enumerate(n_requests)]


def begin(router, seed=0):
    return router.begin(np.random.default_rng(seed))


class TestPrefixIndex:
    @SETTINGS
    @given(TEXTS)
    def test_a_match_is_the_longest_common_prefix_with_anything_sent(self, texts):
        index, chains, sent = PrefixIndex(), Chains(block_tokens=1), []
        for text in texts:
            common = [
                next(
                    (i for i, (a, b) in enumerate(zip(text, old, strict=False)) if a != b),
                    min(len(text), len(old)),
                )
                for old in sent
            ]
            keys = chains.extend([], text)
            assert index.matched(keys) == max(common, default=0)
            index.add(keys)
            sent.append(text)

    @SETTINGS
    @given(TEXTS, st.integers(1, 12))
    def test_with_a_limit_the_least_recently_sent_go_first_tails_before_heads(self, texts, limit):
        index, chains = PrefixIndex(max_blocks=limit), Chains(block_tokens=1)
        naive: OrderedDict[int, None] = OrderedDict()
        for text in texts:
            keys = chains.extend([], text)
            index.add(keys)
            for key in reversed(keys):
                naive.pop(key, None)
                naive[key] = None
            for key in list(naive)[: max(len(naive) - limit, 0)]:
                del naive[key]
            assert len(index) == len(naive) <= limit
            for other in texts:
                chain = chains.extend([], other)
                known = [key in naive for key in chain]
                n = known.index(False) if False in known else len(known)
                assert not any(known[n:])  # no block outlives its prefix
                assert index.matched(chain) == n


class TestBlind:
    @pytest.mark.parametrize("router", [RoundRobin(), RandomChoice()], ids=lambda router: router.name)
    @pytest.mark.parametrize("n_workers", [1, 2, 7])
    def test_dividing_beforehand_is_choosing_one_by_one(self, router, n_workers):
        assert isinstance(router, BlindRouter)
        divided = router.divide(300, n_workers, np.random.default_rng(5))
        routing = begin(router, seed=5)
        assert divided.tolist() == [routing.choose(Prompt(), workers(*[0] * n_workers)) for _ in range(300)]

    def test_turns_pass_over_what_takes_no_requests(self):
        routing, (a, b, c) = begin(RoundRobin()), workers(0, 0, 0)
        open_ones = [[a, b, c], [a, c], [a, c], [a, b, c], [b]]
        assert [seen[routing.choose(Prompt(), seen)].index for seen in open_ones] == [0, 2, 0, 1, 1]

    def test_random_draws_are_equally_likely(self):
        n, counts = 20_000, np.bincount(RandomChoice().divide(20_000, 4, np.random.default_rng(1)))
        assert np.all(np.abs(counts - n / 4) < 4 * math.sqrt(n * 3 / 16))


class TestByLoad:
    @SETTINGS
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    def test_the_least_loaded_is_taken_and_of_several_the_first(self, loads):
        assert begin(LeastRequests()).choose(Prompt(), workers(*loads)) == loads.index(min(loads))
        by_tokens = [Seen(index, Load(n_requests=9 - n, n_tokens=n)) for index, n in enumerate(loads)]
        assert begin(LeastTokens()).choose(Prompt(), by_tokens) == loads.index(min(loads))

    def test_of_two_the_better_is_taken_and_every_pair_is_equally_likely(self):
        routing, n = begin(PowerOfTwo(), seed=2), 12_000
        counts = np.bincount([routing.choose(Prompt(), workers(3, 0, 2, 1)) for _ in range(n)], minlength=4)
        shares = np.array([0, 1 / 2, 1 / 6, 1 / 3])  # of the six pairs those in which it is the better one
        assert np.all(np.abs(counts - n * shares) <= 4 * np.sqrt(n * shares * (1 - shares)))

    def test_one_of_one_needs_no_draw(self):
        assert begin(PowerOfTwo()).choose(Prompt(), workers(3)) == 0

    def test_freeness_counts_what_the_head_of_the_queue_needs(self):
        load = {"total_blocks": 10, "used_blocks": 4}
        busy = Seen(0, Load(**load, waiting_blocks=5, n_running=1))
        calm = Seen(1, Load(**load, n_running=3))
        idle = Seen(2, Load(**load))
        routing = begin(Freeness())
        assert routing.choose(Prompt(), [busy, calm]) == 1  # 1 < 2
        assert routing.choose(Prompt(), [busy, calm, idle]) == 2
        assert Freeness().free_steps(total_blocks=10, used_blocks=4, waiting_blocks=8, n_running=0) == -2


class TestCacheAware:
    def test_both_thresholds_must_be_exceeded(self):
        router = CacheAware(balance_abs_threshold=4, balance_rel_threshold=1.5)
        far = {"matched_tokens": [100, 0], "prompt_tokens": 100}
        assert router.decide(loads=[20, 14], **far) == 0
        assert router.decide(loads=[22, 14], **far) == 1
        assert router.decide(loads=[4, 0], **far) == 0
        assert router.decide(loads=[5, 0], **far) == 1

    def test_half_a_match_is_not_more_than_half(self):
        assert CacheAware().decide(loads=[1, 0], matched_tokens=[50, 0], prompt_tokens=100) == 1
        assert CacheAware().decide(loads=[1, 0], matched_tokens=[51, 0], prompt_tokens=100) == 0

    def test_it_remembers_what_it_sent_until_a_replica_loses_it(self):
        routing, prompt = begin(CacheAware()), Prompt(8, tuple(range(1, 9)))
        assert routing.choose(prompt, workers(1, 0)) == 1
        assert routing.choose(prompt, workers(0, 1)) == 1
        routing.forget(1)
        assert routing.choose(prompt, workers(0, 1)) == 0


class TestKvCost:
    @SETTINGS
    @given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(0.01, 10))
    def test_shares_are_probabilities_that_fall_with_the_cost(self, costs, temperature):
        shares = KvCost(temperature=temperature).shares(costs)
        assert sum(shares) == pytest.approx(1.0)
        in_order = [share for _, share in sorted(zip(costs, shares, strict=True), key=lambda row: row[0])]
        assert all(left >= right - 1e-12 for left, right in itertools.pairwise(in_order))

    def test_without_temperature_the_smallest_cost_has_it_all(self):
        assert KvCost().shares([3.0, 1.0, 1.0]) == [0.0, 1.0, 0.0]

    def test_replicas_are_drawn_by_their_shares(self):
        router, n = KvCost(temperature=1.0), 6_000
        seen = [Seen(index, Load(used_blocks=used)) for index, used in enumerate([0, 5, 10])]
        routing = begin(router, seed=3)
        counts = np.bincount([routing.choose(Prompt(), seen) for _ in range(n)], minlength=3)
        shares = np.array(router.shares([0.0, 5.0, 10.0]))
        assert np.all(np.abs(counts - n * shares) <= 4 * np.sqrt(n * shares * (1 - shares)))

    def test_a_block_that_is_cached_weighs_as_much_as_one_in_use(self):
        seen = [Seen(0, Load(used_blocks=3)), Seen(1, Load(used_blocks=5), cached=32)]
        asked = Prompt(prompt_tokens=50, block_tokens=16)
        assert begin(KvCost()).choose(asked, seen) == 0  # 4 + 3 = 2 + 5, the first of both
        assert begin(KvCost(overlap_weight=1.5)).choose(asked, seen) == 1

    def test_what_waits_will_be_in_use(self):
        seen = [Seen(0, Load(used_blocks=3, wanted_blocks=4)), Seen(1, Load(used_blocks=6))]
        assert begin(KvCost()).choose(Prompt(), seen) == 1

    @SETTINGS
    @given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=6))
    def test_where_nothing_is_cached_few_looks_find_the_same(self, loads):
        seen = [Seen(index, _Growing(used, grown, waits)) for index, (used, grown, waits) in enumerate(loads)]
        costs = [used + grown + waits for used, grown, waits in loads]
        found = begin(KvCost()).choose(Prompt(may_be_cached=False), seen)
        assert found == costs.index(min(costs)) == begin(KvCost()).choose(Prompt(), seen)


class TestExploitExplore:
    def test_exactly_half_is_enough_to_stay(self):
        router = ExploitExplore(prefill_s_per_token=0.01)
        assert router.decide(100, [Candidate(9.0, 50), Candidate(0.0, 0)])[:2] == ("exploit", 0)
        assert router.decide(101, [Candidate(9.0, 50), Candidate(0.0, 0)])[:2] == ("explore", 1)

    def test_an_overloaded_holder_gives_its_requests_away_where_that_is_wanted(self):
        candidates = [Candidate(9.0, 100), Candidate(5.0, 0)]
        assert ExploitExplore(balance_ratio=2.0).decide(100, candidates).place == 0
        assert ExploitExplore(balance_ratio=1.5).decide(100, candidates).place == 1

    def test_what_exceeds_the_free_blocks_costs_its_computation(self):
        full = Seen(0, Load(total_blocks=10, used_blocks=10))
        free = Seen(1, Load(total_blocks=10, used_blocks=0, queued_tokens=15))
        asked = Prompt(prompt_tokens=32, keys=(1, 2), block_tokens=16)
        routing = begin(ExploitExplore())
        assert routing.choose(asked, [full, free]) == 1  # 32 + 32 tokens against 15 + 32
        assert routing.choose(asked, [full, free]) == 1  # and now it holds the prompt

    @SETTINGS
    @given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 10)), min_size=1, max_size=8))
    def test_where_nobody_holds_anything_few_looks_find_the_same(self, loads):
        seen = [
            Seen(index, Load(total_blocks=10, used_blocks=used, queued_tokens=8 * queued))
            for index, (queued, used) in enumerate(loads)
        ]
        each = [
            Candidate(1e-4 * one.load.queued_tokens, 0, 1e-4 * 16 * max(one.load.used_blocks - 6, 0))
            for one in seen
        ]
        asked = Prompt(prompt_tokens=60, keys=(), block_tokens=16)  # needs four of ten blocks
        assert begin(ExploitExplore()).choose(asked, seen) == ExploitExplore().decide(60, each).place


class TestNames:
    @pytest.mark.parametrize("name", ROUTERS)
    def test_every_name_makes_a_router_that_chooses(self, name):
        router = make_router(parse_router(name))
        assert router.name == name
        routing = begin(router)
        for _ in range(5):
            assert 0 <= routing.choose(Prompt(4, (1, 2, 3, 4)), workers(3, 0, 5)) < 3
        routing.forget(1)
        assert RouterSpec(name=name).is_blind == isinstance(router, BlindRouter)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("round_robbin", "router: unknown 'round_robbin' (did you mean 'round_robin'?)"),
            ("kv_cost(overlap=2)", "unknown 'overlap' (did you mean 'overlap_weight'?)"),
            ("kv_cost(overlap_weight=-2)", "kv_cost: overlap_weight: -2 must be >= 0"),
            ("kv_cost(overlap_weight=round)", "is not a number"),
            ("kv_cost(2)", "is neither a name nor name(option=number, ...)"),
            ("random(seed=1)", "random: unknown 'seed'; it has no options"),
            ("3", "is neither a name nor"),
            ("", "cannot be read"),
        ],
    )
    def test_a_bad_router_is_named(self, text, message):
        with pytest.raises(ConfigError) as caught:
            parse_router(text)
        assert message in str(caught.value)

    def test_a_router_is_text(self):
        with pytest.raises(ConfigError, match="router: 3 is not text"):
            parse_router(3)

    def test_a_cluster_has_replicas_and_reports(self):
        with pytest.raises(ConfigError, match="replicas: 0 must be a whole number >= 1"):
            ClusterSpec(n_replicas=0)
        with pytest.raises(ConfigError, match="load_delay_s: -1 must be >= 0"):
            ClusterSpec(load_delay_s=-1)
