"""Cases of a radix tree and of the order of the queue: spoilt ones fail, bad ones are one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.validation.test_scenarios import expectations, spoilt
from validation.scenarios import check_scenarios

CASES = Path(__file__).resolve().parents[2] / "data" / "scenarios"
FILES = sorted([*CASES.glob("R*.json"), *CASES.glob("O*.json")])

RADIX = {"kind": "radix", "config": {}, "ops": [{"op": "insert", "tokens": [{"seq": [0, 4]}]}]}
ORDER = {
    "kind": "order",
    "config": {"policy": "lpm"},
    "cached": [[{"seq": [0, 4]}]],
    "waiting": [{"id": "a", "prompt": [{"seq": [0, 3]}]}, {"id": "b", "prompt": [{"seq": [0, 5]}]}],
    "expect": {"order": ["b", "a"], "matched": {"a": 2, "b": 4}},
}


def line(folder: Path, case: dict) -> str:
    (folder / "X.json").write_text(json.dumps({"id": "X", **case}))
    (result,) = check_scenarios(folder).cases
    return result.line()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_expected_figure_can_change_unnoticed(file, tmp_path):
    case = json.loads(file.read_text())
    paths = list(expectations(case))
    for index, path in enumerate(paths):
        wrong = spoilt(case, path) | {"id": f"X{index}"}
        (tmp_path / f"X{index}.json").write_text(json.dumps(wrong))
    unnoticed = [paths[int(case.id[1:])] for case in check_scenarios(tmp_path).cases if not case.reasons]
    assert unnoticed == []


def test_sound_cases_pass(tmp_path):
    assert line(tmp_path, RADIX) == line(tmp_path, ORDER) == "X ... passed"


def ops(*rows: dict) -> dict:
    return {**RADIX, "ops": list(rows)}


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            {**RADIX, "config": {"eviction": "lur"}},
            "config.eviction: unknown 'lur' (did you mean 'lru'?); one of lru",
        ),
        ({**RADIX, "config": {"page_size": 0}}, "config.page_size: "),
        ({**RADIX, "config": {"pages": 1}}, "config: unknown key 'pages'"),
        (ops({"op": "insrt"}), "ops[0].op: unknown 'insrt'"),
        (ops({"op": "insert"}), "ops[0].tokens: None is not a list of segments"),
        (ops({"op": "evict"}), "ops[0]: key 'tokens_needed' is missing"),
        (ops({"op": "unlock", "name": "x"}), "ops[0].name: 'x' holds no lock"),
        (ops(*[{"op": "lock", "name": "x", "tokens": []}] * 2), "ops[1].name: 'x' holds a lock already"),
        (ops({"op": "size", "expect": {"free": 1}}), "ops[0].expect: unknown key 'free'"),
        (ops({"op": "size", "tokens": []}), "ops[0]: unknown key 'tokens'"),
        ({**ORDER, "config": {}}, "config: key 'policy' is missing"),
        ({**ORDER, "config": {"policy": "lmp"}}, "config.policy: unknown 'lmp'"),
        ({**ORDER, "expect": {"order": ["a", "b"]}}, "expect.order[0]: expected a, got b (and 1 more)"),
        ({**ORDER, "expect": {"order": ["b"]}}, "expect.order: expected ['b'], got ['b', 'a']"),
        ({**ORDER, "expect": {"matched": {"c": 1}}}, "expect.matched: 'c' does not wait"),
        (
            {**ORDER, "waiting": [{"id": "a", "prompt": []}]},
            "waiting[0]: 'a' waits already, or has no prompt",
        ),
        ({**ORDER, "waiting": [{"id": "a", "promt": []}]}, "waiting[0]: unknown key 'promt'"),
        ({**ORDER, "config": {"policy": "lpm", "queue_limit": -1}}, "config.queue_limit: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(case, said, tmp_path):
    assert f"X ... failed: {said}" in line(tmp_path, case)


def test_page_sizes_and_name_spaces_hold_for_locks_too(tmp_path):
    case = ops(
        {"op": "insert", "tokens": [{"seq": [0, 9]}], "namespace": "a", "expect": {"added": 8}},
        {"op": "lock", "name": "x", "tokens": [{"seq": [0, 9]}], "expect": {"matched": 0, "protected": 0}},
        {
            "op": "lock",
            "name": "y",
            "namespace": "a",
            "tokens": [{"seq": [0, 6]}],
            "expect": {"matched": 4, "protected": 4, "evictable": 4},
        },
        {"op": "evict", "tokens_needed": 9, "expect": {"freed": 4, "removed": [[4, 5, 6, 7]]}},
    )
    assert line(tmp_path, {**case, "config": {"page_size": 4}}) == "X ... passed"


@pytest.mark.parametrize(
    ("eviction", "removed"),
    [
        ("lru", [[2]]),
        ("mru", [[1]]),
        ("fifo", [[1]]),
        ("filo", [[3]]),
        ("lfu", [[3]]),
        ("slru", [[3]]),
        ("priority", [[2]]),
    ],
)
def test_each_order_of_eviction_has_its_own_first_victim(eviction, removed, tmp_path):
    def one(op: str, token: int) -> dict:
        return {"op": op, "tokens": [{"tokens": [token]}]}

    rows = [one("insert", n) for n in (1, 2, 2, 3, 1)] + [one("match", 3), one("match", 1)]
    case = ops(*rows, {"op": "evict", "tokens_needed": 1, "expect": {"removed": removed}})
    assert line(tmp_path, {**case, "config": {"eviction": eviction}}) == "X ... passed"


@pytest.mark.parametrize(
    ("config", "order"),
    [
        ({"policy": "fcfs"}, ["a", "b", "c"]),
        ({"policy": "fcfs", "use_priority": True}, ["c", "b", "a"]),
        ({"policy": "fcfs", "use_priority": True, "low_value_first": True}, ["a", "c", "b"]),
        ({"policy": "lof"}, ["b", "a", "c"]),
        ({"policy": "lof", "use_priority": True}, ["b", "c", "a"]),
        ({"policy": "lof", "use_priority": True, "low_value_first": True}, ["a", "b", "c"]),
        ({"policy": "lpm"}, ["b", "c", "a"]),
        ({"policy": "lpm", "use_priority": True}, ["b", "c", "a"]),
        ({"policy": "dfs-weight"}, ["b", "c", "a"]),
    ],
)
def test_every_policy_orders_by_its_own_rule(config, order, tmp_path):
    waiting = [
        {"id": "a", "prompt": [{"seq": [90, 5]}], "priority": 1, "arrival": 0, "max_output": 4},
        {"id": "b", "prompt": [{"seq": [0, 5]}], "priority": 2, "arrival": 2, "max_output": 9},
        {
            "id": "c",
            "prompt": [{"seq": [0, 3]}, {"seq": [7, 1]}],
            "priority": 2,
            "arrival": 1,
            "max_output": 4,
        },
    ]
    case = {**ORDER, "config": config, "waiting": waiting, "expect": {"order": order}}
    assert line(tmp_path, case) == "X ... passed"


@pytest.mark.parametrize(("threshold", "second"), [(18, "Y"), (19, "X2"), (16, "Y"), (20, "X2")])
def test_shared_tokens_count_singly_also_where_blocks_are_longer(threshold, second, tmp_path):
    requests = [
        {"id": "X1", "arrival": 0, "prompt": [{"seq": [0, 18]}, {"seq": [600, 6]}], "output_len": 1},
        {"id": "X2", "arrival": 0, "prompt": [{"seq": [0, 18]}, {"seq": [700, 6]}], "output_len": 1},
        {"id": "Y", "arrival": 0, "prompt": [{"seq": [900, 24]}], "output_len": 1},
    ]
    config = {
        "ordering": "lpm",
        "in_batch_threshold": threshold,
        "prefix_cache": True,
        "block_size": 4,
        "cache_commit": "step_end",
        "max_batch_tokens": 60,
        "max_seqs": 2,
    }
    together = {name: {"queue_time": 0.0} for name in ("X1", second)}
    case = {"kind": "engine", "config": config, "requests": requests, "expect": {"requests": together}}
    assert line(tmp_path, case) == "X ... passed"


def test_a_prompt_that_is_cached_to_its_end_stands_in_the_tree_at_its_end(tmp_path):
    waiting = [
        {"id": "x", "prompt": [{"seq": [0, 4]}]},
        {"id": "y", "prompt": [{"seq": [0, 4]}, {"seq": [9, 1]}]},
    ]
    expect = {"order": ["x", "y"], "matched": {"x": 3, "y": 4}}
    case = {**ORDER, "config": {"policy": "dfs-weight"}, "waiting": waiting, "expect": expect}
    assert line(tmp_path, case) == "X ... passed"
