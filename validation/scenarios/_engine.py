"""Cases of kind ``engine``: a replica, requests, and every iteration that must come out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from qtheory.system.metrics import tpot_s
from sim.observe import Event, Iteration
from sim.record import Records, Status
from sim.reference import simulate

from ._both import fast_faults
from ._case import differences, number, only_keys, table, want
from ._engine_config import read_policy, read_replica
from ._engine_requests import CaseRequests, read_requests

__all__ = ["check_engine"]

_ITERATION = (
    "start",
    "end",
    "batch",
    "cached",
    "preempted",
    "swap_out",
    "swap_in",
    "finished",
    "free_blocks_end",
    "counters",
)
_REQUEST = ("status", "time", "ttft", "e2e", "queue_time", "preemptions", "tpot", "cached_tokens")


def check_engine(case: dict[str, Any]) -> list[str]:
    """Differences between what a case expects and what the engines do.

    The reference engine is held against all of it. The fast engine, where it runs such a case, is held
    against the requests, and against every record of the reference engine.

    Parameters
    ----------
    case : dict
        With ``config``, ``requests`` and ``expect``.

    Returns
    -------
    list of str
        Empty if the case holds.

    Raises
    ------
    ServingError
        If the case cannot be read or run.

    Examples
    --------
    >>> check_engine({
    ...     "config": {"num_blocks": 4},
    ...     "requests": [{"id": "A", "arrival": 0.5, "prompt_len": 20, "output_len": 2}],
    ...     "expect": {"requests": {"A": {"ttft": 1.0, "e2e": 2.5}}},
    ... })
    ['requests.A.e2e: expected 2.5, got 2.0', 'fast engine: requests.A.e2e: expected 2.5, got 2.0']
    """
    only_keys("case", case, ("config", "requests", "expect"))
    config = table("config", case.get("config", {}))
    expect = want("case", case, "expect", dict)
    only_keys("expect", expect, ("iterations", "requests", "events"))
    asked = read_requests(want("case", case, "requests", list))
    seen: list[Iteration] = []
    policy, replica = read_policy(config), read_replica(config)
    records = simulate(asked.requests, policy, replica, contents=asked.contents, observer=seen.append)
    found = []
    if "iterations" in expect:
        steps = [_step(step, asked) for step in seen if step.batch or step.preempted]
        found += _compare_steps(
            want("expect", expect, "iterations", list), steps, has_cache=bool(config.get("prefix_cache"))
        )
    requests = table("expect.requests", expect.get("requests", {}))
    found += _compare_requests(requests, records, asked)
    if "iterations" in expect or "events" in expect:
        events = [_event(event, asked) for step in seen for event in step.events]
        found += _compare_events(want("expect", expect, "events", list, []), events)

    def compare(fast: Records) -> list[str]:
        return _compare_requests(requests, fast, asked)

    return found + fast_faults(asked, policy, replica, records, compare)


def _step(step: Iteration, asked: CaseRequests) -> dict[str, Any]:
    name = asked.ids
    return {
        "start": step.start_s,
        "end": step.end_s,
        "batch": {name[job]: list(work) for job, work in step.batch.items()},
        "cached": {name[job]: n for job, n in step.cached.items()},
        "preempted": [name[job] for job in step.preempted],
        "swap_out": {name[job]: n for job, n in step.swapped_out.items()},
        "swap_in": {name[job]: n for job, n in step.swapped_in.items()},
        "finished": sorted(name[job] for job in step.finished),
        "free_blocks_end": step.free_blocks,
        "counters": {asked.clients[client]: n for client, n in step.counters.items()},
    }


def _compare_steps(expected: Sequence[Any], steps: list[dict[str, Any]], *, has_cache: bool) -> list[str]:
    found = []
    empty: dict[str, Any] = {"preempted": [], "swap_out": {}, "swap_in": {}, "finished": []}
    for index, given in enumerate(expected):
        where = f"iterations[{index}]"
        only_keys(where, table(where, given), _ITERATION)
        wanted = {**empty, "end": number(where, given, "start", 0) + 1, **given}
        if has_cache:
            wanted.setdefault("cached", {})
        if index >= len(steps):
            found.append(f"{where}: expected one at {given.get('start')}, but the run is over")
            break
        for key, value in wanted.items():
            actual = steps[index][key]
            found += differences(f"{where}.{key}", value, actual)
            if (
                isinstance(value, dict)
                and isinstance(actual, dict)
                and (extra := actual.keys() - value.keys())
            ):
                found.append(f"{where}.{key}: got {', '.join(sorted(extra))} as well")
    if len(steps) > len(expected):
        found.append(f"iterations: expected {len(expected)}, got {len(steps)}")
    return found


def _compare_requests(expected: dict[str, Any], records: Records, asked: CaseRequests) -> list[str]:
    found = []
    for name, wanted in expected.items():
        where = f"requests.{name}"
        only_keys(where, table(where, wanted), _REQUEST)
        if name not in asked.ids:
            found.append(f"{where}: there is no such request")
            continue
        found += differences(where, wanted, _request(records, asked.ids.index(name)))
    return found


def _request(records: Records, row: int) -> dict[str, Any]:
    """What is known of a request that ended; ``time`` only if it was given up."""
    status = Status(int(records.status[row]))
    sent_s, finish_s = float(records.sent_s[row]), float(records.finish_s[row])
    actual: dict[str, Any] = {"status": status.name.lower()}
    if status is not Status.FINISHED:
        return actual if math.isnan(finish_s) else {**actual, "time": finish_s}
    first_s, n = float(records.first_token_s[row]), int(records.requests.output_tokens[row])
    actual |= {
        "ttft": first_s - sent_s,
        "e2e": finish_s - sent_s,
        "queue_time": float(records.first_scheduled_s[row]) - sent_s,
        "preemptions": int(records.n_preemptions[row]),
        "cached_tokens": int(records.cached_tokens[row]),
    }
    if n > 1:
        actual["tpot"] = float(tpot_s(first_s, finish_s, n))
    return actual


def _event(event: Event, asked: CaseRequests) -> dict[str, Any]:
    value = {"resume": "cached", "swap_out": "blocks", "swap_in": "blocks"}.get(event.kind)
    named = {"t": event.at_s, "event": event.kind, "id": asked.ids[event.position]}
    return {**named, value: event.value} if value else named


def _compare_events(expected: Sequence[Any], events: list[dict[str, Any]]) -> list[str]:
    """In order of time; events of one moment may come in any order."""
    for index, given in enumerate(expected):
        where = f"events[{index}]"
        only_keys(where, table(where, given), ("t", "event", "id", "cached", "blocks"))
        number(where, given, "t", 0.0)

    def order(event: dict[str, Any]) -> tuple[float, str, str]:
        return round(event.get("t", 0.0), 6), str(event.get("event")), str(event.get("id"))

    return differences("events", sorted(expected, key=order), sorted(events, key=order))
