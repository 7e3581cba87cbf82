"""What every trace must be, whatever it shows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

REQUIRED = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid", "args"},
    "C": {"name", "ts", "pid", "args"},
    "b": {"name", "cat", "id2", "ts", "pid"},
    "e": {"name", "cat", "id2", "ts", "pid"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
}


def check_structure(events: list[dict[str, Any]]) -> None:
    """Required keys, time that does not run back, slices that do not overlap, begins that have their ends."""
    processes = {event["pid"] for event in events if event["ph"] == "M"}
    end_us: dict[tuple[int, int], float] = defaultdict(float)
    open_names: dict[tuple[int, str], list[str]] = defaultdict(list)
    counted: dict[tuple[int, str], Any] = {}
    slices = [event for event in events if event["ph"] == "X"]
    starts: dict[int, float] = {}
    last_us = 0.0
    for event in events:
        assert REQUIRED[event["ph"]] <= event.keys(), event
        assert event["pid"] in processes
        assert event["ts"] >= last_us
        last_us = event["ts"]
        if event["ph"] == "X":
            track = event["pid"], event["tid"]
            assert event["dur"] > 0
            assert event["ts"] >= end_us[track] - 1e-3
            end_us[track] = event["ts"] + event["dur"]
        if event["ph"] == "C":
            assert counted.get((event["pid"], event["name"])) != event["args"]
            counted[event["pid"], event["name"]] = event["args"]
            assert min(event["args"].values()) >= 0
        if event["ph"] == "b":
            open_names[event["pid"], event["id2"]["local"]].append(event["name"])
        if event["ph"] == "e":
            assert open_names[event["pid"], event["id2"]["local"]].pop() == event["name"]
        if event["ph"] in "sf":
            assert any(one["ts"] <= event["ts"] <= one["ts"] + one["dur"] for one in slices)
            assert any(one["pid"] == event["pid"] for one in slices)
        if event["ph"] == "s":
            starts[event["id"]] = event["ts"]
        if event["ph"] == "f":
            assert starts.pop(event["id"]) <= event["ts"]
    assert not starts
    assert not any(open_names.values())
