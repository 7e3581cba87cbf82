"""From the records of a cluster to its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qtheory.system.results import RunResult
from qtheory.system.slo import Slo
from sim.binding import waiting_shares
from sim.policies import Policy
from sim.summary import summarize, window_rows

from .records import ClusterRecords

__all__ = ["summarize_cluster"]

_SUMMED = ("mean_waiting", "mean_running", "prefill_tps", "decode_tps")


def summarize_cluster(
    found: ClusterRecords,
    slo: Slo,
    *,
    policies: Sequence[Policy] = (),
    n_windows: int = 0,
    **about: Any,
) -> RunResult:
    """Percentiles, goodput and utilisation of a cluster.

    Latencies and rates are those of all requests; numbers of waiting and running requests are summed over the
    replicas; shares (busy, KV blocks, what is waited for, MFU) are means over them, ``peak_kv_frac`` the
    largest of any, and ``kv_blocks`` those of the first replica.

    Parameters
    ----------
    found : ClusterRecords
    slo : Slo
    policies : sequence of Policy
        Of each replica, whose limits tell what waiting requests waited for; none leaves that out.
    n_windows : int
        Windows of the timeline, 0 for none.
    **about
        As for `sim.summary.summarize`.

    Returns
    -------
    RunResult

    Examples
    --------
    >>> from qtheory.system.workload.request import Requests
    >>> from sim.cluster import Member, simulate_cluster
    >>> from sim.replica import Replica
    >>> from sim.routing import RoundRobin
    >>> from sim.testing import ConstantStep
    >>> one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=8))
    >>> asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[10, 10], output_tokens=[4, 2])
    >>> found = simulate_cluster(asked, [one, one], RoundRobin())
    >>> result = summarize_cluster(found, Slo(), scheduler="chunked", rate_rps=1.0, budget_tokens=2048)
    >>> result.busy_frac, result.mean_running
    (0.75, 1.5)
    """
    n, parts = found.n_replicas, found.parts
    whole = summarize(found.records, slo, **about)
    numbers: dict[str, Any] = {
        "busy_frac": whole.busy_frac / n,
        "peak_kv_frac": max(part.steps.used_blocks.max(initial=0) / part.n_blocks for part in parts),
        "kv_blocks": parts[0].n_blocks,
    }
    if policies:
        shares = [
            waiting_shares(part.steps, policies[index], span_s=whole.makespan_s)
            for part, index in zip(parts, found.part_replica, strict=True)
        ]
        numbers |= {name: sum(share[name] for share in shares) / n for name in shares[0]}
    return replace(whole, timeline=_timeline(found, n_windows), **numbers)


def _timeline(found: ClusterRecords, n_windows: int) -> tuple[dict[str, float], ...]:
    """Windows over the steps of all replicas."""
    steps = found.records.steps
    if not n_windows or not len(steps.start_s):
        return ()
    edges = np.linspace(steps.start_s[0], steps.end_s.max(), n_windows + 1)
    of_parts = [window_rows(part.steps, edges, n_blocks=part.n_blocks) for part in found.parts]
    rows = []
    for same in zip(*of_parts, strict=True):
        row = dict(same[0])
        for name in row.keys() - {"start_s", "end_s"}:
            total = sum(one[name] for one in same)
            row[name] = total if name in _SUMMED else total / found.n_replicas
        rows.append(row)
    return tuple(rows)
