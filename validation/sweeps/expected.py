"""What the gate of SGLang lets run, for theory: as many as leave room for what is expected of them."""

from __future__ import annotations

import math
from dataclasses import replace

from qtheory.predict.demand import Demand, demand_of
from qtheory.system.replica import ReplicaSpec
from qtheory.system.workload import Workload

__all__ = ["gated"]

_FIRST, _LAST = 0.7, 0.098  # of what running requests may still produce, at first and in the long run [1]
_DECAY_STEPS = 600
_ROUNDS = 20  # of the fixed point below, which halves its error each
_AMPLE = 64  # times the memory: what ends is then the number that may run


def gated(spec: ReplicaSpec, workload: Workload, *, n_requests: int | None = None) -> ReplicaSpec:
    r"""Approximation: the replica with prompts before decodes, and so many slots that memory does not end.

    A newcomer is let in if its prompt and longest output fit beside what is stored and a share :math:`r` of
    what running requests may still produce [1]_. With :math:`C` tokens stored and :math:`R` left of a request
    in the mean, and half of a newcomer that does not fit yet, :math:`w`,

    .. math:: N = \frac{M - \mathrm{E} w^2 / 2 \mathrm{E} w}{C + r R}

    run. The share falls from 0.7 to 0.098 in the first 600 steps; a run of ``n_requests`` that are all there
    meets its mean over the steps that the run takes. Nobody is thrown out.

    Parameters
    ----------
    spec : ReplicaSpec
        With the scheduler ``sglang``; any other is returned as it is.
    workload : Workload
    n_requests : int, optional
        Of a run that ends; None: a steady state.

    References
    ----------
    .. [1] SGLang, ``managers/schedule_policy.py``, ``PrefillAdder``, and ``schedule_batch.py``, July 2026.
       Releases 0.4.0 and 0.4.1 of December 2024 have the same numbers (``global_config.py``: 0.7, 0.14 of
       that, 600 steps) and the same rule (``managers/scheduler.py`` and ``schedule_policy.py``).

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(model="llama-3.1-8b", scheduler="sglang", max_seqs=4096, kv_blocks=10_000,
    ...     prompt="constant(500)", output="constant(500)", prefix="none", rate_rps=1.0, requests=1000)
    >>> found = gated(replica_of(scenario), workload_of(scenario))
    >>> found.scheduler.name, found.scheduler.max_seqs
    ('fcfs', 205)
    """
    if spec.scheduler.name != "sglang":
        return spec
    demand = demand_of(workload)
    most = float(spec.scheduler.max_seqs or 1)
    share, running = _LAST, most
    for _ in range(_ROUNDS if n_requests else 1):
        if n_requests:
            share = (share + _mean_share(n_requests * (demand.mean_decode + 1) / running)) / 2
        running = min(most, _running(spec, demand, share))
    longest = math.ceil(demand.prompt_tokens.max())
    scheduler = replace(
        spec.scheduler,
        name="fcfs",
        max_seqs=max(int(running), 1),
        budget_tokens=max(spec.budget_tokens, longest),
    )
    return replace(spec, scheduler=scheduler, n_blocks=_AMPLE * spec.n_blocks)


def _running(spec: ReplicaSpec, demand: Demand, share: float) -> float:
    """Requests for which there is room."""
    room = spec.n_blocks * spec.block_tokens
    prompt, output = demand.mean_prompt, demand.mean_decode + 1
    square = demand.prompt_moment(2) + 2 * prompt * output + demand.decode_moment(2) + 2 * output - 1
    unused = square / (2 * (prompt + output))
    return max((room - unused) / (demand.mean_context + share * demand.mean_remaining), 1.0)


def _mean_share(steps: float) -> float:
    """Mean over so many decode steps."""
    falling = min(steps, _DECAY_STEPS)
    at_end = _FIRST + (_LAST - _FIRST) * falling / _DECAY_STEPS
    return ((_FIRST + at_end) / 2 * falling + _LAST * (steps - falling)) / steps
