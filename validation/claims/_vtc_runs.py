"""Runs of several clients on one server, as published with the virtual token counter: read and checked."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests

from ._tables import number, table

__all__ = ["FILES", "RUNS", "Run", "read_runs"]

RUNS = "benchmarks/vtc_fairness_runs.csv"
_RECORDS = tuple(f"benchmarks/vtc_fairness_requests_{k}.csv" for k in (1, 2, 3))
FILES = (RUNS, *_RECORDS)
"""Files that are read."""

_POLICY = re.compile(r"(FCFS|VTC|VTC_oracle|LCF|LShare/rpm(?P<limit>\d+))(_.*pool(?P<tokens>\d+))?")
_POOL_TOKENS = 10_000  # default of launch_server.py of the source
_COLUMNS = ("run", "arrival_s", "tenant", "input_tokens", "output_tokens", "ttft_s", "e2e_s")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One run; arrays (n,) by request, NaN where it was turned away.

    ``policy`` is ``FCFS``, ``VTC``, ``VTC_oracle``, ``LCF`` or ``LShare``; ``per_minute`` the limit of the
    last, else 0; ``server`` what runs on equal machines have in common.
    """

    name: str
    policy: str
    per_minute: int
    server: tuple[str, str]
    pool_tokens: int
    longest_prompt: int
    requests: Requests
    client: NDArray[np.int64]
    first_token_s: Floats
    finish_s: Floats


def read_runs(folder: Path) -> tuple[list[Run], list[str]]:
    """Runs whose policy is known, and the names of the others."""
    columns = ("run", "policy", "gpu", "model", "input_range", "file")
    rows = table(folder / RUNS, columns)
    records: dict[str, list[dict[str, str]]] = {}
    for file in _RECORDS:
        for row in table(folder / file, _COLUMNS):
            records.setdefault(row["run"], []).append(row)
    runs, others = [], []
    for row in rows:
        found = _POLICY.fullmatch(row["policy"])
        if found is None:
            others.append(row["run"])
            continue
        if row["run"] not in records:
            raise ConfigError(f"{folder / RUNS}: {row['run']} has no requests in {', '.join(_RECORDS)}")
        runs.append(_run(row, found, records[row["run"]], folder))
    if not runs:
        raise ConfigError(f"{folder / RUNS}: no run of FCFS, VTC, VTC_oracle, LCF or LShare/rpm")
    return runs, others


def _run(row: dict[str, str], found: re.Match[str], records: list[dict[str, str]], folder: Path) -> Run:
    where = f"{folder / RUNS}: {row['run']}"
    try:
        longest = int(json.loads(row["input_range"])[1])
    except (ValueError, TypeError, IndexError):
        raise ConfigError(f"{where}: input_range: {row['input_range']!r} is not [least, most]") from None
    columns = {name: np.array([number(record, name, where) for record in records]) for name in _COLUMNS[1:]}
    is_served = columns["ttft_s"] >= 0  # -1: turned away
    arrival_s, client = columns["arrival_s"], columns["tenant"].astype(np.int64)
    return Run(
        name=row["run"],
        policy=found[1].partition("/")[0],
        per_minute=int(found["limit"] or 0),
        server=(row["gpu"], row["model"]),
        pool_tokens=int(found["tokens"] or _POOL_TOKENS),
        longest_prompt=longest,
        requests=Requests(
            arrival_s=arrival_s,
            prompt_tokens=columns["input_tokens"].astype(np.int64),
            output_tokens=columns["output_tokens"].astype(np.int64),
            client=client,
        ),
        client=client,
        first_token_s=np.where(is_served, arrival_s + columns["ttft_s"], np.nan),
        finish_s=np.where(is_served, arrival_s + columns["e2e_s"], np.nan),
    )
