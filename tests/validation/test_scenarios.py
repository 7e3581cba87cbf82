"""Behaviour cases: all hold, a changed expectation does not, a bad file is one line."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from validation.scenarios import check_scenarios

CASES = Path(__file__).resolve().parents[1] / "data" / "scenarios"
FILES = sorted(CASES.glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_case_holds(file):
    (case,) = check_scenarios(CASES, only=[file.stem]).cases
    assert case.line() == f"{file.stem} ... passed"


@pytest.mark.shared
def test_the_shared_collection_holds(shared):
    results = check_scenarios(shared / "design" / "scenarios")
    assert results.n_failed == 0, results.text()
    assert results.n_passed >= len(FILES)


def leaves(node, path=()):
    """Paths of all numbers and words of an expectation."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from leaves(value, (*path, index))
    else:
        yield path


def other(value):
    if isinstance(value, bool):
        return not value
    return value + 1 + abs(value) // 100 if isinstance(value, int | float) else f"{value}x"


def spoilt(case, path):
    """The case with one leaf changed."""
    case = copy.deepcopy(case)
    node = case
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = other(node[path[-1]])
    return case


def expectations(case):
    if "ops" in case:
        for index, op in enumerate(case["ops"]):
            yield from leaves(op["expect"], ("ops", index, "expect"))
    else:
        yield from leaves(case["expect"], ("expect",))


SPOILT = [
    "E07-preempt-last-admitted",
    "E08-resume-hits-own-blocks",
    "E17-conservative-append-self-preempts",
    "E19-swap-costs-time",
    "E20-reject-what-can-never-run",
    "E42-demote-the-unrecoverable",
    "E44-vtc-alternates-by-service",
    "B04-eviction-order",
    "B11-copy-on-write",
    "C08-recompute-or-swap",
    "C13-mfu-mbu-of-a-decode-step",
    "M03-goodput-inclusive",
    "M05-preemption-is-decode-time",
    "M06-aiperf-duration",
]


@pytest.mark.parametrize("name", SPOILT)
def test_no_expected_figure_can_change_unnoticed(name, tmp_path):
    case = json.loads((CASES / f"{name}.json").read_text())
    paths = list(expectations(case))
    for index, path in enumerate(paths):
        wrong = spoilt(case, path) | {"id": f"X{index}"}
        (tmp_path / f"X{index}.json").write_text(json.dumps(wrong))
    results = check_scenarios(tmp_path)
    unnoticed = [paths[int(case.id[1:])] for case in results.cases if case.outcome != "failed"]
    assert unnoticed == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("E07-preempt-last-admitted", ("expect", "iterations", 2, "preempted")),
        ("E07-preempt-last-admitted", ("expect", "iterations", 3, "finished")),
        ("E07-preempt-last-admitted", ("expect", "events", 1)),
        ("E08-resume-hits-own-blocks", ("expect", "iterations", 4, "cached")),
        ("E18-swap-out-and-back", ("expect", "iterations", 3, "swap_in")),
        ("E19-swap-costs-time", ("expect", "iterations", 1, "end")),
        ("E07-preempt-last-admitted", ("expect", "iterations", 4)),
        ("E07-preempt-last-admitted", ("expect", "iterations", 1, "batch", "B")),
    ],
)
def test_what_happens_without_being_expected_is_a_difference(name, path, tmp_path):
    case = json.loads((CASES / f"{name}.json").read_text())
    node = case
    for key in path[:-1]:
        node = node[key]
    del node[path[-1]]
    (tmp_path / f"{name}.json").write_text(json.dumps(case))
    (result,) = check_scenarios(tmp_path).cases
    assert result.outcome == "failed"
