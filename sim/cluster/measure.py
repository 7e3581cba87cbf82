"""Numbers of a cluster of which no records are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests
from sim._unfit import cut_outputs
from sim.fast.cached_loop import CachedMeter
from sim.fast.meter import Meter
from sim.fast.replica import Common
from sim.kvcache import Contents
from sim.kvcache.texts import TextContents
from sim.routing import Router
from sim.summary import Peak

from ._cluster import ClusterRun
from .cluster import why_reference
from .member import Member

__all__ = ["measure_cluster"]

_MEANS = (
    "busy_frac", "mean_kv_frac", "waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac",
)  # fmt: skip
"""Shares that are means over the replicas."""


def measure_cluster(
    requests: Requests,
    members: Sequence[Member],
    router: Router,
    slo: Slo,
    *,
    peak: Peak | None = None,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
    load_delay_s: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """As `simulate_cluster`, but nothing is kept of a request or a step beyond sums and histograms.

    Parameters
    ----------
    requests, members, router, client_cap, think_s, until_s, contents, load_delay_s, seed
        As for `simulate_cluster`; the members must be equal.
    slo : Slo
        What makes a request good.
    peak : Peak, optional
        Work of a load, for utilisation.

    Returns
    -------
    dict
        The fields of a `qtheory.system.results.RunResult` that a run decides, as `summarize_cluster` gives
        them; percentiles within 0.05 %.

    Raises
    ------
    ConfigError
        If the members differ, or need the reference engine, which keeps everything.
    PlanError
        As `simulate_cluster`.

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.routing import LeastRequests
    >>> from sim.testing import ConstantStep
    >>> one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=8))
    >>> asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[10, 10], output_tokens=[4, 2])
    >>> numbers = measure_cluster(asked, [one, one], LeastRequests(), Slo())
    >>> numbers["n_finished"], numbers["busy_frac"], numbers["mean_running"]
    (2, 0.75, 1.5)
    """
    policy, replica = members[0]
    if any(member.policy is not policy or member.replica is not replica for member in members):
        raise ConfigError("records: must be kept, as the members differ")
    reason = why_reference(requests, members)
    if reason is not None:
        raise ConfigError(f"records: must be kept, as {reason}")
    requests = cut_outputs(requests, replica.max_model_len_tokens)
    contents = contents or TextContents.of(requests)
    meter = (CachedMeter if replica.prefix_cache else Meter)(slo, peak, policy)
    run = ClusterRun(
        requests,
        members,
        router,
        contents=contents or Contents.unique(len(requests)),
        client_cap=client_cap,
        think_s=think_s,
        load_delay_s=load_delay_s,
        changes=(),
        seed=seed,
        observers=(),
        common=Common(requests, contents, meter),
    )
    end_s = run.measure(until_s)
    found = meter.numbers(n_requests=len(requests), n_blocks=replica.n_blocks, end_s=end_s)
    return found | {name: found[name] / len(members) for name in _MEANS}
