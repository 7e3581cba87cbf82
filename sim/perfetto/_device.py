"""Slices of the device and counters of a lane, as trace events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .lane import Lane

__all__ = ["Event", "Window", "counters", "device_slices", "micros"]

Event = dict[str, Any]
Window = tuple[float, float]

DEVICE = 1  # thread of the device in the process of a replica
_NAMED = 3  # requests in the name of a slice
_SAME_S = 1e-9


def micros(at_s: float) -> float:
    """A moment in microseconds, as traces have it; to the nanosecond."""
    return round(at_s * 1e6, 3)


def device_slices(lane: Lane, pid: int, window: Window) -> Iterator[Event]:
    """One slice a step that computes prompts, and one a run of steps that decode alone."""
    steps, low_s, high_s = lane.steps, *window
    starts, ends, counts = steps.start_s.tolist(), steps.end_s.tolist(), steps.n_steps.tolist()
    decodes, prompts, context = (
        column.tolist() for column in (steps.n_decodes, steps.prefill_tokens, steps.decode_context_tokens)
    )
    row, n_rows = 0, len(starts)
    while row < n_rows:
        last = row
        if not prompts[row]:  # a run of decode steps of the same batch
            while (
                last + 1 < n_rows
                and not prompts[last + 1]
                and decodes[last + 1] == decodes[row]
                and abs(starts[last + 1] - ends[last]) < _SAME_S
            ):
                last += 1
        if ends[last] > low_s and starts[row] < high_s:
            begin, end = micros(max(starts[row], low_s)), micros(min(ends[last], high_s))
            args = {"decodes": decodes[row], "context_tokens": context[row]}
            n_steps = sum(counts[row : last + 1])
            name, more = _decoded(n_steps) if not prompts[row] else _computed(lane, starts[row], prompts[row])
            yield {
                "name": name,
                "cat": "step",
                "ph": "X",
                "ts": begin,
                "dur": round(end - begin, 3),
                "pid": pid,
                "tid": DEVICE,
                "args": more | args,
            }
        row = last + 1


def _decoded(n_steps: int) -> tuple[str, dict[str, Any]]:
    return "decode", {"steps": n_steps}


def _computed(lane: Lane, start_s: float, n_tokens: int) -> tuple[str, dict[str, Any]]:
    """Name and facts of a step with prompts: whose they are, if that is known."""
    step = lane.watched.get(start_s)
    if step is None:
        return "prefill", {"steps": 1, "prefill_tokens": n_tokens}
    rows = sorted(step.prompts, key=lambda row: (-step.prompts[row], row))
    named = ", ".join(map(str, rows[:_NAMED])) + (
        f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    )
    whose = {str(row): step.prompts[row] for row in rows}
    return f"prefill of {named}", {"steps": 1, "prefill_tokens": n_tokens, "prompt_tokens_of_request": whose}


def counters(lane: Lane, pid: int, window: Window) -> Iterator[Event]:
    """Requests that wait and run, and KV blocks in use, wherever they change."""
    steps = lane.steps
    last: dict[str, dict[str, int]] = {}
    idle_after = np.append(steps.start_s[1:] - steps.end_s[:-1] > _SAME_S, True)  # (m,)
    rows = zip(
        steps.start_s.tolist(),
        steps.end_s.tolist(),
        steps.n_waiting.tolist(),
        steps.n_running.tolist(),
        steps.used_blocks.tolist(),
        idle_after.tolist(),
        strict=True,
    )
    for start_s, end_s, n_waiting, n_running, used, is_last in rows:
        values = {
            "requests": {"waiting": n_waiting, "running": n_running},
            "KV blocks": {"used": used, "free": lane.n_blocks - used},
        }
        yield from _changed(values, last, pid, start_s, window)
        if is_last:
            step = lane.watched.get(start_s)
            ended = {"requests": {"waiting": n_waiting, "running": 0}}
            if step is not None:
                left = step.used_blocks
                ended["KV blocks"] = {"used": left, "free": lane.n_blocks - left}
            yield from _changed(ended, last, pid, end_s, window)


def _changed(
    values: Mapping[str, dict[str, int]],
    last: dict[str, dict[str, int]],
    pid: int,
    at_s: float,
    window: Window,
) -> Iterator[Event]:
    for name, value in values.items():
        if last.get(name) != value:
            last[name] = value
            if window[0] <= at_s <= window[1]:
                yield {"name": name, "ph": "C", "ts": micros(at_s), "pid": pid, "tid": 0, "args": value}
