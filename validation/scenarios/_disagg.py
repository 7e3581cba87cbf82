"""Cases of kind ``disagg``: one prefill instance, one link, one decode instance, steps of one time unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.system.metrics import tpot_s
from sim.cluster import FIRST_TOKENS, Link, Member, PoolRecords, Pools, simulate_pools
from sim.observe import Iteration
from sim.policies import Chunked, Policy
from sim.record import Status
from sim.replica import Replica
from sim.testing import ConstantStep

from ._case import MOST, count, differences, number, only_keys, table, want
from ._engine_requests import CaseRequests, read_requests

__all__ = ["check_disagg"]

Table = dict[str, Any]
_CONFIG = (
    "policy",
    "block_size",
    "iteration_time",
    "prefill_max_batch_tokens",
    "prefill_num_blocks",
    "decode_num_blocks",
    "link_latency",
    "link_tokens_per_time",
    "first_token",
)
_REQUEST = (
    "status",
    "prefill_start",
    "prefill_end",
    "transfer_start",
    "transfer_end",
    "ttft",
    "tpot",
    "e2e",
    "token_times",
)


def check_disagg(case: Table) -> list[str]:
    """Differences between what a case expects and what separate instances do.

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
    >>> config = {"link_tokens_per_time": 100, "first_token": "transfer_end"}
    >>> request = {"id": "A", "arrival": 0, "prompt_len": 100, "output_len": 2}
    >>> check_disagg({"config": config, "requests": [request], "expect": {"requests": {"A": {"ttft": 1.0}}}})
    ['requests.A.ttft: expected 1.0, got 2.0']
    """
    only_keys("case", case, ("config", "requests", "expect"))
    config = table("config", case.get("config", {}))
    expect = want("case", case, "expect", dict)
    only_keys("expect", expect, ("prefill_iterations", "transfers", "decode_iterations", "requests"))
    asked = read_requests(want("case", case, "requests", list))
    prefills: list[Iteration] = []
    decodes: list[Iteration] = []
    pools, contents = _pools(config), asked.contents
    found = simulate_pools(
        asked.requests, pools, contents=contents, observers=(prefills.append, decodes.append)
    )
    unseen = simulate_pools(asked.requests, pools, contents=contents)  # by the fast engine where it can
    answer = {
        "prefill_iterations": [_prefill(step, asked) for step in prefills if step.batch],
        "transfers": _transfers(found, asked),
        "decode_iterations": [_decode(step, asked) for step in decodes if step.batch],
    }
    reasons = []
    for key, rows in answer.items():
        if key in expect:
            reasons += _compare_rows(key, want("expect", expect, key, list), rows)
    for name, wanted in table("expect.requests", expect.get("requests", {})).items():
        where = f"requests.{name}"
        only_keys(where, table(where, wanted), _REQUEST)
        if name not in asked.ids:
            reasons.append(f"{where}: there is no such request")
            continue
        for each in (found, unseen):
            reasons += differences(where, wanted, _request(each, decodes, asked.ids.index(name)))
    if "transfers" in expect:
        reasons += _compare_rows("transfers", expect["transfers"], _transfers(unseen, asked))
    return list(dict.fromkeys(reasons))


def _pools(config: Table) -> Pools:
    only_keys("config", config, _CONFIG)
    first_token = want("config", config, "first_token", str, "prefill_end")
    checks.one_of("config.first_token", first_token, FIRST_TOKENS)
    step_time = ConstantStep(number("config", config, "iteration_time", 1.0))
    block_tokens = count("config", config, "block_size", 16)
    whole = Policy(
        name="prefill",
        composition=Chunked(whole_prompts=True),
        budget_tokens=count("config", config, "prefill_max_batch_tokens", 2048),
        max_seqs=MOST,
    )
    decode = Policy(name="decode", budget_tokens=MOST * MOST, max_seqs=MOST)
    blocks = {name: count("config", config, f"{name}_num_blocks", 64) for name in ("prefill", "decode")}
    return Pools(
        prefill=[
            Member(whole, Replica(step_time=step_time, n_blocks=blocks["prefill"], block_tokens=block_tokens))
        ],
        decode=[
            Member(decode, Replica(step_time=step_time, n_blocks=blocks["decode"], block_tokens=block_tokens))
        ],
        link=Link(
            latency_s=number("config", config, "link_latency", 0.0),
            tokens_per_s=number("config", config, "link_tokens_per_time"),
        ),
        first_token=first_token,
    )


def _prefill(step: Iteration, asked: CaseRequests) -> Table:
    batch = {asked.ids[job]: n for job, (_, n) in step.batch.items()}
    return {"start": step.start_s, "end": step.end_s, "batch": batch}


def _decode(step: Iteration, asked: CaseRequests) -> Table:
    return {"start": step.start_s, "end": step.end_s, "ids": [asked.ids[job] for job in step.batch]}


def _transfers(found: PoolRecords, asked: CaseRequests) -> list[Table]:
    """In the order in which they began."""
    starts_s, ends_s = found.transfer_start_s, found.transfer_end_s
    rows = [int(row) for row in np.argsort(starts_s, kind="stable") if not math.isnan(starts_s[row])]
    return [{"id": asked.ids[row], "start": float(starts_s[row]), "end": float(ends_s[row])} for row in rows]


def _compare_rows(key: str, expected: list[Any], rows: list[Table]) -> list[str]:
    """All rows, with nothing in them that is not expected; who is in a batch comes in any order."""
    found = []
    for index, (given, actual) in enumerate(zip(expected, rows, strict=False)):
        where = f"{key}[{index}]"
        only_keys(where, table(where, given), list(actual))
        wanted = dict(given)
        if "ids" in wanted:
            wanted["ids"] = sorted(map(str, want(where, wanted, "ids", list)))
            actual = {**actual, "ids": sorted(actual["ids"])}
        found += differences(where, wanted, actual)
        batch = wanted.get("batch")
        if isinstance(batch, dict) and (extra := actual["batch"].keys() - batch.keys()):
            found.append(f"{where}.batch: got {', '.join(sorted(extra))} as well")
    if len(expected) != len(rows):
        found.append(f"{key}: expected {len(expected)}, got {len(rows)}")
    return found


def _request(found: PoolRecords, decodes: list[Iteration], row: int) -> Table:
    """What is known of a request; moments that never came are left out."""
    records = found.records
    sent_s, first_s, finish_s = (
        float(column[row]) for column in (records.sent_s, records.first_token_s, records.finish_s)
    )
    answer: Table = {
        "status": Status(int(records.status[row])).name.lower(),
        "prefill_start": float(found.prefill_start_s[row]),
        "prefill_end": float(found.prefill_end_s[row]),
        "transfer_start": float(found.transfer_start_s[row]),
        "transfer_end": float(found.transfer_end_s[row]),
        "ttft": first_s - sent_s,
        "e2e": finish_s - sent_s,
        "tpot": float(tpot_s(first_s, finish_s, int(records.requests.output_tokens[row]))),
    }
    decoded = [step.end_s for step in decodes if row in step.batch]
    times = decoded if first_s in decoded else [first_s, *decoded]
    known = {key: value for key, value in answer.items() if value == value}  # not NaN
    return {**known, "token_times": times}
