"""The requests of an engine case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim.kvcache import Contents

from ._case import count, number, only_keys, table, tokens, want

__all__ = ["CaseRequests", "read_requests"]

_KEYS = (
    "id",
    "arrival",
    "prompt",
    "prompt_len",
    "output_len",
    "output_tokens",
    "max_output",
    "predicted_output",
    "priority",
    "ttft_slo",
    "client",
    "salt",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRequests:
    """Requests in order of arrival, what they say, and the names of requests and clients by number."""

    requests: Requests
    contents: Contents
    ids: list[str]
    clients: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: str
    arrival_s: float
    prompt: list[int] | None
    prompt_tokens: int
    output: list[int] | None
    output_tokens: int
    max_output_tokens: int
    predicted_output_tokens: float
    priority: int
    ttft_slo_s: float
    client: str
    salt: str


def read_requests(given: Sequence[Any]) -> CaseRequests:
    """Requests of a case, sorted by arrival, equal arrivals in the order of the file.

    Raises
    ------
    ConfigError
        If a key is unknown or missing, or a value is out of its range.

    Examples
    --------
    >>> rows = [{"id": "B", "arrival": 2, "prompt_len": 5, "output_len": 1},
    ...         {"id": "A", "arrival": 1, "prompt": [{"seq": [0, 3]}], "output_len": 1}]
    >>> read_requests(rows).ids
    ['A', 'B']
    """
    rows = sorted(
        (_row(f"requests[{i}]", item) for i, item in enumerate(given)), key=lambda row: row.arrival_s
    )
    ids = [row.id for row in rows]
    if len(set(ids)) < len(ids):
        raise ConfigError(f"requests: two have the id {shown(max(ids, key=ids.count))}")
    clients = sorted({row.client for row in rows})
    return CaseRequests(
        requests=Requests(
            arrival_s=_column(rows, "arrival_s"),
            prompt_tokens=_column(rows, "prompt_tokens"),
            output_tokens=_column(rows, "output_tokens"),
            max_output_tokens=_column(rows, "max_output_tokens"),
            predicted_output_tokens=_column(rows, "predicted_output_tokens"),
            priority=_column(rows, "priority"),
            client=[clients.index(row.client) for row in rows],  # type: ignore[arg-type]
            ttft_slo_s=_column(rows, "ttft_slo_s"),
        ),
        contents=Contents(
            prompts=[row.prompt for row in rows],
            outputs=[row.output for row in rows],
            salts=[row.salt for row in rows],
        ),
        ids=ids,
        clients=clients,
    )


def _column(rows: list[_Row], name: str) -> Any:
    return [getattr(row, name) for row in rows]


def _row(where: str, item: object) -> _Row:
    given = table(where, item)
    only_keys(where, given, _KEYS)
    prompt = tokens(f"{where}.prompt", given["prompt"]) if "prompt" in given else None
    output = tokens(f"{where}.output_tokens", given["output_tokens"]) if "output_tokens" in given else None
    if (prompt is None) == ("prompt_len" not in given):
        raise ConfigError(f"{where}: give either 'prompt' or 'prompt_len'")
    n_output: int = count(where, given, "output_len")
    return _Row(
        id=want(where, given, "id", str),
        arrival_s=number(where, given, "arrival"),
        prompt=prompt,
        prompt_tokens=len(prompt) if prompt is not None else count(where, given, "prompt_len"),
        output=output,
        output_tokens=n_output,
        max_output_tokens=want(where, given, "max_output", int, n_output),
        predicted_output_tokens=number(where, given, "predicted_output", n_output),
        priority=want(where, given, "priority", int, 0),
        ttft_slo_s=number(where, given, "ttft_slo") if "ttft_slo" in given else math.inf,
        client=want(where, given, "client", str, ""),
        salt=want(where, given, "salt", str, ""),
    )
