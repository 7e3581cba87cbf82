"""The fast engine with a prefix cache gives the records of the reference engine; a fault in it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo
from qtheory.system.workload import TextRuns
from qtheory.system.workload.request import Requests
from sim import engine, reference
from sim.fast.cache import Cache
from sim.fast.cached import CachedState
from sim.fast.cohort import Cohort
from sim.fast.copies import Copy, Idle
from sim.fast.tree import Node, nodes_of
from sim.kvcache import Contents
from sim.kvcache.texts import TextContents
from sim.policies import Policy
from sim.replica import Replica
from sim.testing import ConstantStep
from validation.engines import check_engines, differences, draw_cached_case
from validation.engines.run import check_one

LEAST_SHARES = {
    "preempts": 0.15,
    "sheds": 0.05,
    "hits": 0.6,
    "hits free blocks": 0.5,
    "hits blocks in use": 0.5,
    "leaves the last token": 0.3,
    "evicts": 0.4,
    "keeps two copies": 0.3,
    "comes back to a prefix": 0.1,
}


def _agree(seeds: range, capsys: pytest.CaptureFixture[str]) -> None:
    agreement = check_engines(seeds, prefix_cache=True)
    with capsys.disabled():
        print(f"\nwith a prefix cache: {agreement.summary()}")
    assert not agreement.unequal
    for rule, share in LEAST_SHARES.items():
        assert agreement.reached[rule] >= share * agreement.n_cases, rule


def test_the_engines_agree_on_500_random_cases_with_a_prefix_cache(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _agree(range(500), capsys)


@pytest.mark.slow
def test_the_engines_agree_on_3000_more_cases_with_a_prefix_cache(capsys: pytest.CaptureFixture[str]) -> None:
    _agree(range(20_000, 23_000), capsys)


@pytest.mark.parametrize("seed", range(40))
def test_no_random_case_with_a_prefix_cache_needs_the_reference_engine(seed: int) -> None:
    case = draw_cached_case(seed)
    assert engine.why_stepwise(case.requests, case.policy, case.replica) is None


# ---- planted faults

Plant = Callable[[pytest.MonkeyPatch], None]


def _last_token_found(patch: pytest.MonkeyPatch) -> None:
    plain = Cache.match

    def match(self: Cache, job: Any) -> Any:
        job.known_tokens += 1
        found = plain(self, job)
        job.known_tokens -= 1
        return found

    patch.setattr(Cache, "match", match)


def _idle_not_charged(patch: pytest.MonkeyPatch) -> None:
    plain = CachedState._enter

    def enter(self: CachedState, *args: Any) -> int:
        self.free += 1
        taken = plain(self, *args)
        self.free -= 1
        return taken

    patch.setattr(CachedState, "_enter", enter)


def _latest_lost_first(patch: pytest.MonkeyPatch) -> None:
    def append(self: Idle, copy: Copy) -> None:
        assert self._ends.after is not None
        self._put(copy, self._ends.after)
        self.n_blocks += copy.end - copy.start

    patch.setattr(Idle, "append", append)


def _published_at_once(patch: pytest.MonkeyPatch) -> None:
    plain = CachedState.__init__

    def init(self: CachedState, *args: Any) -> None:
        plain(self, *args)
        self._publishes_plans = True

    patch.setattr(CachedState, "__init__", init)


def _latest_copy_first(patch: pytest.MonkeyPatch) -> None:
    plain = Cache._list

    def listed(self: Cache, job: Any, node: Node, n_blocks: int) -> None:
        plain(self, job, node, n_blocks)
        node.copies.reverse()

    patch.setattr(Cache, "_list", listed)


FAULTS: dict[str, Plant] = {
    "last token": _last_token_found,
    "block gate": _idle_not_charged,
    "order of loss": _latest_lost_first,
    "publication": _published_at_once,
    "order of copies": _latest_copy_first,
    "answers": lambda patch: patch.setattr(Cache, "enrol", lambda self, job: None),
    "coming back": lambda patch: patch.setattr(Cache, "_leaf", lambda self, job: Node((), 0, 0)),
    "order of ends": lambda patch: patch.setattr("sim.fast.cached._Cohort.leave", Cohort.leave),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_the_prefix_cache_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)

    def differs(seed: int) -> bool:
        try:
            return bool(check_one(draw_cached_case(seed))[0])
        except (ConfigError, IndexError, KeyError, ValueError):
            return True

    assert any(differs(seed) for seed in range(150))


# ---- what requests have in common


def _prompts(*prompts: list[tuple[int, int, int]]) -> TextRuns:
    flat = np.array([run for prompt in prompts for run in prompt])
    nowhere = np.full(len(prompts), -1)
    return TextRuns(
        texts=flat[:, 0],
        starts=flat[:, 1],
        n_tokens=flat[:, 2],
        offsets=np.cumsum([0, *(len(prompt) for prompt in prompts)]),
        output_texts=nowhere,
        output_starts=nowhere + 1,
    )


def _requests(prompt_tokens: list[int], **more: Any) -> Requests:
    n = len(prompt_tokens)
    return Requests(arrival_s=np.arange(n) * 10.0, prompt_tokens=prompt_tokens, output_tokens=[1] * n, **more)


def test_a_shared_prompt_is_one_run_of_blocks_however_long() -> None:
    runs = _prompts(*([(0, 0, 1000), (1 + row, 0, 50)] for row in range(5)))
    nodes = nodes_of(TextContents(runs), _requests([1050] * 5), 16)
    assert len(set(nodes)) == 1
    [node] = nodes[0].path
    assert (node.start, node.end) == (0, 62)


def test_paths_part_where_texts_do() -> None:
    runs = _prompts([(0, 0, 100)], [(0, 0, 40), (7, 0, 60)], [(0, 0, 40), (7, 0, 60)], [(9, 0, 100)])
    nodes = nodes_of(TextContents(runs), _requests([100] * 4), 16)
    spans = [[(part.start, part.end) for part in node.path] if node else [] for node in nodes]
    assert spans == [[(0, 2)], [(0, 2), (2, 6)], [(0, 2), (2, 6)], []]


@pytest.mark.parametrize("seed", range(20))
def test_a_path_is_the_longest_beginning_that_another_request_has(seed: int) -> None:
    case = draw_cached_case(seed)
    requests, contents, size = case.requests, case.contents, case.replica.block_tokens
    assert contents is not None
    lengths = zip(requests.prompt_tokens.tolist(), requests.output_tokens.tolist(), strict=True)
    texts = [
        [(contents.salt(row), token) for token in contents.tokens(row, prompt_tokens=p, n_outputs=o)]
        for row, (p, o) in enumerate(lengths)
    ]

    def in_common(one: Any, other: Any) -> int:
        return next(
            (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
        )

    for row, node in enumerate(nodes_of(contents, requests, size)):
        most = max(in_common(texts[row], text) for other, text in enumerate(texts) if other != row)
        assert (node.end if node else 0) == most // size


def test_what_requests_say_by_themselves_is_found() -> None:
    runs = _prompts([(0, 0, 64)], [(0, 0, 64)], [(0, 0, 64), (1, 0, 8)])
    replica = Replica(step_time=ConstantStep(), n_blocks=64, prefix_cache=True)
    records = engine.simulate(_requests([64, 64, 72], text_runs=runs), Policy(name="chunked"), replica)
    assert records.cached_tokens.tolist() == [0, 48, 64]


def test_measured_numbers_with_a_prefix_cache_are_those_of_the_records() -> None:
    case = draw_cached_case(3, n=200)
    how = {"client_cap": case.client_cap, "think_s": case.think_s, "until_s": case.until_s}
    arguments = (case.requests, case.policy, case.replica)
    records = engine.simulate(*arguments, contents=case.contents, **how)
    numbers = engine.measure(*arguments, Slo(ttft_s=5.0), contents=case.contents, **how)
    assert numbers["n_finished"] == np.sum(records.status == 0)
    assert numbers["cached_tokens"] == records.cached_tokens.sum() > 0
    was_let_in = ~np.isnan(records.first_scheduled_s)
    asked = case.requests.prompt_tokens[was_let_in].sum()
    assert numbers["cached_frac"] == pytest.approx(records.cached_tokens.sum() / asked, rel=1e-12)
    ttft_s = records.first_token_s - records.sent_s
    assert numbers["mean_ttft_s"] == pytest.approx(np.nanmean(ttft_s), rel=1e-9)


def test_without_anything_in_common_a_cache_changes_no_record() -> None:
    case = draw_cached_case(11)
    contents = Contents.unique(len(case.requests))
    one = reference.simulate(case.requests, case.policy, case.replica)
    assert not differences(one, engine.simulate(case.requests, case.policy, case.replica, contents=contents))
