"""Prefill and decode apart: the rules alone, first tokens, back-pressure."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from sim.cluster import FIRST_TOKENS, Link, Pools, simulate_pools
from sim.record import Status
from sim.testing import request_lists
from tests.sim.cluster.naive_pools import NaivePools
from tests.sim.cluster.small_pools import SIZE, asked, decode, pools, prefill

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)


@SETTINGS
@given(
    request_lists(max_size=8),
    st.sampled_from(FIRST_TOKENS),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.sampled_from([10.0, 64.0]),
    st.integers(10, 30),
)
def test_token_times_are_those_of_the_rules(requests, first_token, latency_s, per_s, n_prefill):
    link = Link(tokens_per_s=per_s, latency_s=latency_s)
    n_decode = 13 * len(requests)  # room for all sequences to their ends
    seen = []
    found = simulate_pools(
        requests,
        pools([prefill(n_prefill)], [decode(n_decode)], link=link, first_token=first_token),
        observers=[lambda step: None, seen.append],
    )
    rows = list(
        zip(
            *(
                column.tolist()
                for column in (requests.arrival_s, requests.prompt_tokens, requests.output_tokens)
            ),
            strict=True,
        )
    )
    sizes = {"budget": 64, "n_prefill": n_prefill, "n_decode": n_decode, "size": SIZE}
    expected = NaivePools(rows, **sizes, link=link, first_token=first_token).run()
    for row, times in enumerate(expected):
        later = [step.end_s for step in seen if row in step.batch]
        first_s = float(found.records.first_token_s[row])
        assert ([first_s] if first_s not in later else []) + later == pytest.approx(times)
        assert found.records.finish_s[row] == pytest.approx(times[-1])


@SETTINGS
@given(
    request_lists(),
    st.sampled_from(FIRST_TOKENS),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([1, 8]),
    st.integers(0, 4),
)
def test_whatever_is_short_every_request_ends_with_all_its_tokens(
    requests, first_token, x, y, is_shared, n_layers, cap
):
    found = simulate_pools(
        requests,
        pools(
            [prefill(11)] * x,
            [decode(14, max_seqs=3)] * y,
            link=Link(tokens_per_s=20.0, latency_s=0.1, n_layers=n_layers, is_shared=is_shared),
            first_token=first_token,
        ),
        client_cap=cap,
    )
    records, outputs = found.records, requests.output_tokens
    done = records.status == Status.FINISHED
    assert np.all(done | (records.status == Status.REJECTED))
    fits = -(-(requests.prompt_tokens + outputs - 1) // SIZE) <= 14
    assert np.all(done <= fits)
    assert int(records.gaps.expand()[1].sum()) == int((outputs[done] - 1).sum())
    for before, after in (
        (records.sent_s, found.prefill_start_s),
        (found.prefill_start_s, found.prefill_end_s),
        (found.prefill_end_s, found.transfer_start_s),
        (found.transfer_start_s, found.transfer_end_s),
        (records.first_token_s, records.finish_s),
    ):
        both = done & ~np.isnan(after)
        assert np.all(before[both] <= after[both] + 1e-9)
    _check_links(found, is_shared=is_shared)


def _check_links(found, *, is_shared):
    """One transfer at a time on every link."""
    sent = ~np.isnan(found.transfer_start_s)
    key = (found.prefill[sent] * 0 if is_shared else found.prefill[sent] * 10 + found.decode[sent]).tolist()
    spans = sorted(zip(key, found.transfer_start_s[sent], found.transfer_end_s[sent], strict=True))
    for (one, _, end_s), (other, start_s, _) in itertools.pairwise(spans):
        assert one != other or start_s >= end_s - 1e-9


class TestFirstToken:
    def test_the_conventions_move_the_first_token_and_recomputing_adds_a_step(self):
        requests, times = asked([0.0], [40], [3]), {}
        for first_token in FIRST_TOKENS:
            records = simulate_pools(requests, pools(first_token=first_token)).records
            times[first_token] = (records.first_token_s[0], records.finish_s[0])
        assert times == {
            "prefill_end": (1.0, 4.5),
            "transfer_end": (2.5, 4.5),
            "decode_recompute": (3.5, 5.5),
        }

    def test_the_transfer_is_the_first_gap_or_part_of_the_first_token(self):
        requests = asked([0.0], [40], [3])
        gaps = {
            first_token: simulate_pools(requests, pools(first_token=first_token)).records.gaps.expand()[0]
            for first_token in FIRST_TOKENS
        }
        assert gaps["prefill_end"].tolist() == [2.5, 1.0]
        assert gaps["transfer_end"].tolist() == gaps["decode_recompute"].tolist() == [1.0, 1.0]

    def test_one_token_is_never_sent_unless_the_decode_side_samples_it(self):
        requests = asked([0.0], [40], [1])
        for first_token, sent in zip(FIRST_TOKENS, (False, False, True), strict=True):
            found = simulate_pools(requests, pools(first_token=first_token))
            assert math.isnan(found.transfer_start_s[0]) != sent
            assert found.decode[0] == (0 if sent else -1)


class TestPressure:
    def test_a_full_decode_side_keeps_blocks_on_the_prefill_side_and_arrivals_wait(self):
        requests = asked([0.0, 0.0, 1.5], [24, 24, 24], [3, 2, 1])
        link = Link(tokens_per_s=24.0)
        found = simulate_pools(requests, pools([prefill(12)], [decode(7)], link=link))
        assert found.transfer_start_s[:2].tolist() == [1.0, 4.0]  # when the first one is finished
        assert found.prefill_start_s.tolist() == [0.0, 0.0, 2.0]  # when the first one has left

    def test_a_preempted_job_computes_what_it_knows_in_one_step_before_anything_new_comes(self):
        """Two prompts of one block each in three blocks: at the third token the second one must go."""
        requests = asked([0.0, 0.0], [4, 4], [8, 5])
        seen = []
        link = Link(tokens_per_s=1e6)
        found = simulate_pools(
            requests, pools(y=[decode(3)], link=link), observers=[lambda step: None, seen.append]
        )
        assert found.records.n_preemptions.tolist() == [0, 1]
        steps = [step.batch for step in seen if 1 in step.batch]
        back = next(batch[1] for batch in steps if batch[1][0] == "prefill")
        assert back == ("prefill", 5)
        assert found.records.recomputed_tokens[1] == 4

    def test_a_request_in_transfer_holds_a_slot(self):
        requests = asked([0.0, 0.0], [8, 8], [3, 3])
        link = Link(tokens_per_s=8.0)
        found = simulate_pools(requests, pools(y=[decode(max_seqs=1)], link=link))
        assert found.transfer_start_s.tolist() == [1.0, 4.0]

    def test_what_can_never_be_decoded_is_turned_away_when_it_comes(self):
        requests = asked([0.0, 0.0, 0.0], [8, 80, 8], [40, 1, 2])
        found = simulate_pools(requests, pools(y=[decode(6)]))
        assert found.records.status.tolist() == [Status.REJECTED, Status.REJECTED, Status.FINISHED]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"first_token": "first"}, "first_token: unknown 'first'"),
        ({"prefill": []}, "prefill: there must be at least one instance"),
        ({"decode": []}, "decode: there must be at least one instance"),
    ],
)
def test_pools_that_make_no_sense_are_named(bad, message):
    whole = {"prefill": [prefill()], "decode": [decode()], "link": Link(tokens_per_s=1.0)}
    with pytest.raises(ConfigError) as caught:
        Pools(**(whole | bad))
    assert message in str(caught.value)


def test_blocks_of_two_sizes_cannot_be_sent():
    other = decode()
    other = other._replace(replica=replace(other.replica, block_tokens=8))
    with pytest.raises(ConfigError, match="block_tokens: 4 and 8"):
        pools(y=[other])


@pytest.mark.parametrize("bad", [{"tokens_per_s": 0}, {"latency_s": -1}, {"n_layers": 0}, {"is_shared": 1}])
def test_a_link_out_of_range_is_named(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        Link(**({"tokens_per_s": 1.0} | bad))


def test_a_clock_so_late_that_moments_are_microseconds_apart_still_comes_to_the_end():
    slow = Link(tokens_per_s=1e-9)
    found = simulate_pools(asked([0.0, 0.0], [20, 20], [3, 3]), pools([prefill(20)], [decode(20)], link=slow))
    assert (found.records.status == Status.FINISHED).all()
    assert found.records.finish_s.max() == pytest.approx(40e9, rel=1e-6)
