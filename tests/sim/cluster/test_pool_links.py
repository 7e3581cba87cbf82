"""Links between pools: layer by layer, one a pair or one for all, prefixes, more instances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from sim.cluster import Link, simulate_pools
from sim.kvcache import Contents
from sim.record import Status
from sim.routing import RoundRobin
from sim.testing import request_lists
from tests.sim.cluster.small_pools import asked, decode, pools, prefill

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)


class TestLayers:
    def test_what_went_beside_the_prefill_need_not_be_sent_again(self):
        requests = asked([0.0], [32], [2])
        for per_s, seconds in ((40.0, 0.8 / 32), (16.0, 2.0 - 31 / 32)):
            link = Link(tokens_per_s=per_s, n_layers=32, latency_s=0.25)
            found = simulate_pools(requests, pools(link=link))
            assert found.transfer_end_s[0] - found.transfer_start_s[0] == pytest.approx(seconds + 0.25)

    def test_two_prompts_of_one_step_share_the_link(self):
        """Each alone would be hidden up to one layer; together 1.6 s do not fit into one second."""
        requests = asked([0.0, 0.0], [32, 32], [2, 2])
        link = Link(tokens_per_s=40.0, n_layers=32)
        found = simulate_pools(requests, pools(link=link))
        seconds = found.transfer_end_s - found.transfer_start_s
        assert seconds.tolist() == pytest.approx([0.8 / 32, 0.8 - 0.2 * 31 / 32])

    @SETTINGS
    @given(request_lists(max_size=6))
    def test_nothing_is_sent_faster_than_its_last_layer_or_slower_than_whole(self, requests):
        link = Link(tokens_per_s=10.0, n_layers=4)
        found = simulate_pools(requests, pools([prefill(60)], [decode(200)], link=link))
        whole = requests.prompt_tokens / 10.0
        seconds = found.transfer_end_s - found.transfer_start_s
        sent = ~np.isnan(seconds)
        assert np.all(seconds[sent] <= whole[sent] + 1e-9)
        assert np.all(seconds[sent] >= whole[sent] / 4 - 1e-9)

    def test_without_room_on_the_decode_side_nothing_goes_ahead(self):
        requests = asked([0.0, 0.0], [32, 32], [4, 2])
        link = Link(tokens_per_s=32.0, n_layers=32)
        found = simulate_pools(requests, pools(y=[decode(10)], link=link))
        seconds = found.transfer_end_s - found.transfer_start_s
        assert seconds.tolist() == pytest.approx([1 / 32, 1.0])


class TestManyInstances:
    def test_pairs_have_links_of_their_own_unless_there_is_one_for_all(self):
        requests = asked([0.0, 0.0], [40, 40], [2, 2])
        two = {"x": [prefill()] * 2, "y": [decode()] * 2, "decode_router": RoundRobin()}
        apart = simulate_pools(requests, pools(**two))
        assert apart.transfer_start_s.tolist() == [1.0, 1.0]
        assert apart.prefill.tolist() == apart.decode.tolist() == [0, 1]
        one = simulate_pools(
            requests, pools(**two, link=Link(tokens_per_s=40.0, latency_s=0.5, is_shared=True))
        )
        assert one.transfer_start_s.tolist() == [1.0, 2.5]

    def test_more_prefill_instances_shorten_the_wait_for_the_first_token(self):
        requests = asked(np.arange(12) * 0.25, [60] * 12, [3] * 12)
        mean = {
            x: float(
                np.mean(simulate_pools(requests, pools([prefill()] * x, [decode(400)])).records.first_token_s)
            )
            for x in (1, 2, 3)
        }
        assert mean[3] < mean[2] < mean[1]

    def test_a_prefix_on_the_decode_side_shortens_the_transfer(self):
        requests = asked([0.0, 20.0], [40, 40], [2, 2])
        text = Contents(prompts=[list(range(40))] * 2, outputs=[None, None])
        both = pools([prefill(prefix_cache=True)], [decode(prefix_cache=True)])
        found = simulate_pools(requests, both, contents=text)
        seconds = found.transfer_end_s - found.transfer_start_s
        assert seconds.tolist() == pytest.approx([1.5, 0.5])
        assert found.records.cached_tokens.tolist() == [0, 36]

    def test_the_clock_can_be_stopped(self):
        requests = asked([0.0, 9.0], [40, 40], [9, 9])
        found = simulate_pools(requests, pools(), until_s=3.0)
        assert found.records.status.tolist() == [Status.UNFINISHED] * 2
        assert found.records.end_s == 3.0
        assert found.records.first_token_s[0] == 1.0
        assert math.isnan(found.records.sent_s[1])


class TestOrder:
    def test_a_preempted_job_goes_before_any_new_transfer(self):
        """Three blocks: the second job is preempted at once; the third must not take what is left."""
        requests = asked([0.0, 0.0, 2.5], [4, 4, 4], [8, 5, 2])
        found = simulate_pools(requests, pools(y=[decode(3)], link=Link(tokens_per_s=1e6)))
        assert found.records.n_preemptions[:2].tolist() == [0, 1]
        assert found.prefill_end_s[2] == 3.5
        assert found.transfer_start_s[2] >= found.records.finish_s[0] > 8.0

    def test_nobody_overtakes_at_a_decode_instance_even_on_another_link(self):
        requests = asked([0.0, 1.0, 1.5], [40, 24, 4], [4, 4, 4])
        two = [prefill(), prefill()]
        link = Link(tokens_per_s=1e6)
        found = simulate_pools(requests, pools(two, [decode(12)], link=link, prefill_router=RoundRobin()))
        assert found.prefill.tolist() == [0, 1, 0]
        first_left_s = found.records.finish_s[0]
        assert found.transfer_start_s[1] == first_left_s
        assert found.transfer_start_s[2] >= first_left_s

    def test_layers_do_not_go_ahead_of_somebody_who_waits_for_room(self):
        requests = asked([0.0, 1.0, 2.0], [40, 24, 4], [6, 4, 4])
        link = Link(tokens_per_s=40.0, n_layers=40)
        found = simulate_pools(requests, pools(y=[decode(12)], link=link))
        assert found.transfer_start_s[1] >= found.records.finish_s[0]
        assert found.transfer_start_s[2] >= found.transfer_end_s[1]

    @pytest.mark.parametrize(("prompt", "first_s", "second_s"), [(60, 1.0, 1.0), (40, 0.5, 0.75)])
    def test_layers_do_not_go_while_the_link_is_busy(self, prompt, first_s, second_s):
        """The second prompt is computed from 1 to 2 s; the link is busy in all of it, or in half of it."""
        requests = asked([0.0, 0.5], [prompt, 40], [9, 2])
        found = simulate_pools(requests, pools(link=Link(tokens_per_s=40.0, n_layers=2)))
        assert found.transfer_start_s.tolist() == [1.0, 2.0]
        assert found.transfer_end_s.tolist() == [1.0 + first_s, 2.0 + second_s]
