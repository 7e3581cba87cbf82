"""Orders by cached prefix, against what they mean when it is written out token by token."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.policies import DepthFirst, LongestPrefix
from tests.sim.policies.views import CacheView

TEXTS = st.lists(st.integers(0, 1), min_size=1, max_size=6)
MANY = st.lists(TEXTS, max_size=8)


def order(ordering, view):
    return [job.position for job in ordering.arrange(view.jobs(), view, None)]


def shared(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def matched(view, text):
    """Cached tokens of a prompt, all but the last, in whole blocks of the view."""
    return view.cached_tokens(view.jobs()[view.prompts.index(text)])


@given(MANY, MANY, st.integers(0, 4), st.sampled_from([1, 2]))
def test_longest_prefix_is_as_its_rule_says(cached, prompts, threshold, size):
    view = CacheView(cached, prompts, block_tokens=size)
    cold: list[list[int]] = []
    key = {}
    for row, text in enumerate(prompts):
        key[row] = (0, -matched(view, text))
        if matched(view, text) > threshold:
            continue
        if cold and max(shared(text, other) for other in cold) >= threshold:
            key[row] = (1, 0)
        else:
            cold.append(text)
    expected = sorted(key, key=key.get)
    found = order(LongestPrefix(sharing_tokens=threshold), view)
    if threshold:
        assert found == expected
    else:  # sharing nothing is sharing enough: all that is cold stays in order of arrival
        assert found == sorted(range(len(prompts)), key=lambda row: -max(matched(view, prompts[row]), 0))


def depth_first(view, jobs, prefix=()):
    """Those below a prefix, heavier branch first, then those whose cached part ends with it."""
    n = len(prefix)
    inside = {}
    own = []
    for job in jobs:
        keys = view.block_keys(job)[: view.cached_tokens(job) // view.block_tokens]
        if len(keys) > n:
            inside.setdefault(keys[n], []).append(job)
        else:
            own.append(job)
    for key in sorted(inside, key=lambda key: -len(inside[key])):  # of equal ones as they came
        yield from depth_first(view, inside[key], (*prefix, key))
    yield from own


@given(MANY, MANY, st.sampled_from([1, 2]))
def test_depth_first_walks_the_tree_of_cached_prefixes(cached, prompts, size):
    view = CacheView(cached, prompts, block_tokens=size)
    jobs = view.jobs()
    assert order(DepthFirst(), view) == [job.position for job in depth_first(view, jobs)]


def test_jobs_that_go_last_stay_in_order_of_arrival():
    cached = [list(range(10))]
    prompts = [[0, 1, 50, 51], [90, 91, 92, 93], [90, 91, 92, 94], [0, 1, 2, 3, 4, 99], [0, 1, 50, 52]]
    view = CacheView(cached, prompts)
    assert order(LongestPrefix(sharing_tokens=3), view) == [3, 0, 1, 2, 4]  # 2 and 4 go last, as they came


def test_without_a_cache_or_in_a_long_queue_the_order_is_by_arrival():
    cached, prompts = [[1, 2, 3]], [[5, 5], [1, 2, 3, 4]]
    assert order(LongestPrefix(), CacheView(cached, prompts)) == [1, 0]
    assert order(LongestPrefix(max_queue=1), CacheView(cached, prompts)) == [0, 1]
    for ordering in (LongestPrefix(), DepthFirst()):
        assert order(ordering, CacheView(cached, prompts, has_prefix_cache=False)) == [0, 1]


def test_of_equal_branches_the_one_with_the_earliest_job_goes_first():
    view = CacheView([[1, 1, 1], [2, 2, 2]], [[7], [2, 2, 9], [1, 1, 9]])
    assert order(DepthFirst(), view) == [1, 2, 0]
