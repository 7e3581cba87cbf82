"""From the records of replicas to those of their cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim.kvcache import Contents
from sim.record import Records, Status
from sim.routing import BlindRouter

from ._divided import simulate_divided
from ._merge import merge_gaps, merge_steps
from .member import Member
from .records import ClusterRecords

__all__ = ["cluster_records", "divided_records"]

_MOMENTS = ("first_scheduled_s", "first_token_s", "finish_s")
_COUNTS = ("n_preemptions", "cached_tokens", "recomputed_tokens")


def divided_records(
    requests: Requests,
    members: Sequence[Member],
    router: BlindRouter,
    *,
    until_s: float,
    contents: Contents | None,
    seed: int,
) -> ClusterRecords:
    """Of replicas that run one after the other."""
    replica = router.divide(len(requests), len(members), np.random.default_rng(seed))
    parts = simulate_divided(requests, members, replica, until_s=until_s, contents=contents)
    sent_s = np.full(len(requests), np.nan)
    for index, part in enumerate(parts):
        sent_s[replica == index] = part.sent_s
    came = np.isnan(sent_s) & (requests.arrival_s < until_s)
    sent_s[came] = requests.arrival_s[came]  # while a step was under way that did not end in time
    replica = np.where(np.isnan(sent_s), -1, replica)  # not sent before the clock was stopped
    return cluster_records(
        requests,
        parts,
        [np.flatnonzero(replica == index) for index in range(len(parts))],
        sent_s=sent_s,
        part_replica=range(len(members)),
        n_replicas=len(members),
    )


def cluster_records(
    requests: Requests,
    parts: Sequence[Records],
    rows: Sequence[NDArray[np.int64]],
    *,
    sent_s: NDArray[np.float64],
    part_replica: Sequence[int],
    n_replicas: int,
    n_moves: NDArray[np.int64] | None = None,
    end_s: float | None = None,
) -> ClusterRecords:
    """Put parts together; ``rows`` are the requests that each had last.

    The records of a part have as many rows as it had requests, or a row for each request of the cluster.
    """
    n = len(requests)
    replica, columns = _put_together(n, parts, rows, part_replica)
    blocks = {index: part.n_blocks for index, part in zip(part_replica, parts, strict=True)}
    last_s = max(
        max(part.end_s for part in parts), float(np.max(sent_s, initial=0.0, where=~np.isnan(sent_s)))
    )
    records = Records(
        requests=requests,
        sent_s=sent_s,
        gaps=merge_gaps(parts),
        steps=merge_steps(parts)[0],
        n_blocks=sum(blocks.values()),
        end_s=last_s if end_s is None else end_s,
        replica=replica,
        **columns,
    )
    return ClusterRecords(
        records=records,
        replica=replica,
        n_moves=np.zeros(n, dtype=np.int64) if n_moves is None else n_moves,
        n_replicas=n_replicas,
        parts=tuple(parts),
        part_replica=tuple(part_replica),
    )


def _put_together(
    n: int, parts: Sequence[Records], rows: Sequence[NDArray[np.int64]], part_replica: Sequence[int]
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    """The replica of each request, and the columns of all requests."""
    columns: dict[str, NDArray[Any]] = {name: np.full(n, np.nan) for name in _MOMENTS}
    columns |= {name: np.zeros(n, dtype=np.int64) for name in _COUNTS}
    columns["status"] = np.full(n, int(Status.UNFINISHED), dtype=np.int64)
    replica = np.full(n, -1, dtype=np.int64)
    for part, own, index in zip(parts, rows, part_replica, strict=True):
        replica[own] = index
        there = own if len(part.sent_s) == n else slice(len(own))
        for name, column in columns.items():
            column[own] = getattr(part, name)[there]
    return replica, columns
