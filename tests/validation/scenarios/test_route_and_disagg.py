"""Cases of the kinds route and disagg: no figure changes unnoticed, bad ones are one line, more of them."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import pytest

from validation.scenarios import check_scenarios

CASES = Path(__file__).resolve().parents[2] / "data" / "scenarios"
NAMES = sorted(file.stem for file in CASES.glob("[TD][0-9]*.json"))
T01, T05, D01 = (
    json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("T01-follow-the-cache", "T05-kv-router-weight-1", "D01-one-request")
)


def outcome(tmp_path, case):
    (tmp_path / "X.json").write_text(json.dumps({**case, "id": "X"}), encoding="utf-8")
    (result,) = check_scenarios(tmp_path).cases
    return result.line()


def leaves(node, path=()):
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, (*path, key))
    else:
        yield path


def put(case, path, value):
    case = copy.deepcopy(case)
    node = case
    for key in path[:-1]:
        node = node[key]
    if value is None:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return case


@pytest.mark.parametrize("name", NAMES)
def test_no_expected_figure_can_change_unnoticed(name, tmp_path):
    case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    for path in leaves(case["expect"], ("expect",)):
        node = case
        for key in path:
            node = node[key]
        wrong = put(case, path, f"{node}x" if isinstance(node, str) else node + 1)
        assert outcome(tmp_path, wrong).startswith("X ... failed"), path


@pytest.mark.parametrize(
    "path",
    [
        ("expect", "decode_iterations", 1),
        ("expect", "transfers", 0),
        ("expect", "prefill_iterations", 0),
        ("expect", "prefill_iterations", 0, "batch", "A"),
        ("expect", "decode_iterations", 0, "ids", 0),
        ("expect", "requests", "A", "token_times", 2),
    ],
)
def test_what_happens_without_being_expected_is_a_difference(path, tmp_path):
    assert outcome(tmp_path, put(D01, path, None)).startswith("X ... failed")


@pytest.mark.parametrize(
    ("case", "path", "value", "message"),
    [
        (T01, ("config", "policy"), "cache_awere", "unknown 'cache_awere' (did you mean 'cache_aware'?)"),
        (T01, ("config", "policy"), None, "config: key 'policy' is missing"),
        (T01, ("config", "cach"), 1, "config: unknown key 'cach'"),
        (T01, ("config", "cache_threshold"), -1, "cache_threshold: -1.0 must be >= 0"),
        (T01, ("config", "cache_threshold"), "a", "config.cache_threshold: 'a' is not a finite number"),
        (T01, ("input", "workers"), [], "input.workers: there must be at least one"),
        (T01, ("input", "workers", 1, "id"), "w0", "each with an id of its own"),
        (T01, ("input", "workers", 0, "load"), 1.5, "load 1.5 must be a whole number >= 0"),
        (T01, ("input", "workers", 0, "lod"), 1, "input.workers[0]: unknown key 'lod'"),
        (T01, ("input", "workers", 0, "cached"), [[{"sq": [0, 1]}]], "unknown 'sq' (did you mean 'seq'?)"),
        (T01, ("input", "requests", 0, "prompt"), [], "input.requests[0]: a prompt of no tokens"),
        (T01, ("input", "requests"), None, "input: key 'requests' is missing"),
        (T01, ("expect", "choise"), [], "unknown key 'choise' (did you mean 'choice'?)"),
        (T05, ("input", "request_blocks"), None, "input: key 'request_blocks' is missing"),
        (T05, ("input", "workers", 0, "decode_blocks"), None, "key 'decode_blocks' is missing"),
        (D01, ("config", "first_token"), "prefil_end", "(did you mean 'prefill_end'?)"),
        (D01, ("config", "link_tokens_per_time"), 0, "tokens_per_s: 0.0 must be > 0"),
        (D01, ("config", "link_tokens_per_time"), None, "config: key 'link_tokens_per_time' is missing"),
        (D01, ("config", "link_latency"), -1, "latency_s: -1.0 must be >= 0"),
        (D01, ("config", "decode_blocks"), 3, "config: unknown key 'decode_blocks'"),
        (D01, ("config", "prefill_num_blocks"), 0, "n_blocks: 0 must be a whole number >= 1"),
        (D01, ("requests", 0, "output_len"), 0, "output_tokens: 0 in row 0 must be >= 1"),
        (D01, ("expect", "requests", "B"), {}, "requests.B: there is no such request"),
        (D01, ("expect", "requests", "A", "ttfx"), 1, "unknown key 'ttfx' (did you mean 'ttft'?)"),
        (D01, ("expect", "transfers"), {}, "expect.transfers: {} is not a list"),
    ],
)
def test_a_bad_case_is_one_line_that_names_the_fault(case, path, value, message, tmp_path):
    line = outcome(tmp_path, put(case, path, value))
    assert line.startswith("X ... failed: ")
    assert message in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("policy", "loads", "choice"),
    [
        ("round_robin", [9, 0, 5], ["a", "b", "c", "a"]),
        ("least_requests", [2, 1, 1], ["b", "c", "a", "b"]),
        ("least_tokens", [20, 0, 15], ["b", "b", "c", "a"]),
        ("cache_aware", [2, 1, 1], ["b", "b", "b", "b"]),
    ],
)
def test_routers_that_look_at_loads_follow_a_stream(policy, loads, choice, tmp_path):
    workers = [{"id": name, "load": load} for name, load in zip("abc", loads, strict=True)]
    requests = [{"id": str(index), "prompt": [{"seq": [0, 10]}]} for index in range(4)]
    case = {
        "kind": "route",
        "config": {"policy": policy},
        "input": {"workers": workers, "requests": requests},
        "expect": {"choice": choice},
    }
    assert outcome(tmp_path, case) == "X ... passed"


@pytest.mark.parametrize("steps", [None, math.inf])
def test_an_idle_replica_is_free_without_end(steps, tmp_path):
    worker = {"total_blocks": 10, "used_blocks": 0, "waiting_blocks": 0}
    workers = [{"id": "a", **worker, "running": 1}, {"id": "b", **worker, "running": 0}]
    case = {
        "kind": "route",
        "config": {"policy": "freeness"},
        "input": {"workers": workers},
        "expect": {"choice": "b", "free_steps": {"a": 10, "b": steps}},
    }
    assert outcome(tmp_path, case) == "X ... passed"
