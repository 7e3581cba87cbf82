"""The engine to use: fast where a policy allows it, else the reference engine, with the same meaning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests

from . import reference
from ._unfit import cut_outputs
from .fast.cached import CachedState
from .fast.cached_loop import CachedLoop, CachedMeter, CachedTape
from .fast.fill import Filling, chunked, filling
from .fast.garbage import no_garbage
from .fast.inflow import Inflow
from .fast.lines import knows_order
from .fast.loop import Loop
from .fast.meter import Meter
from .fast.paced import CountedState
from .fast.paced_chunked import serve_alone
from .fast.state import State
from .fast.tape import Tape
from .fast.tree import Node, nodes_of
from .fast.turns import TurnInflow
from .kvcache import Contents
from .kvcache.texts import TextContents
from .policies import (
    Expected,
    FirstChunk,
    FullPrompt,
    Joining,
    LeastServed,
    NoEvict,
    Policy,
    Shedding,
    Unskipped,
)
from .record import Records
from .replica import Replica
from .summary import Peak

__all__ = ["measure", "simulate", "why_stepwise"]


def why_stepwise(requests: Requests, policy: Policy, replica: Replica) -> str | None:
    """The reason why every running job must be visited in every step, or None if the fast engine will do.

    Parameters
    ----------
    requests : Requests
    policy : Policy
    replica : Replica

    Returns
    -------
    str or None

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> requests = Requests(arrival_s=[0.0], prompt_tokens=[8], output_tokens=[2])
    >>> replica = Replica(step_time=ConstantStep(1.0), n_blocks=8)
    >>> why_stepwise(requests, Policy(name="chunked", budget_tokens=64), replica)
    'budget_tokens=64 may be smaller than the decode batch (max_seqs=128)'
    """
    given = requests.max_output_tokens
    reasons = {
        "composition": filling(policy) is None,
        "ordering": not knows_order(policy, replica),
        "admission": type(policy.admission) not in (FullPrompt, FirstChunk, NoEvict, Expected),
        "chunk_size=slack": policy.chunk_size == "slack" and type(policy.admission) is FirstChunk,
        "two ledgers of decodes": _n_ledgers(policy) > 1,
        "shed": type(policy.shed) is not Shedding,
        "long_prefill_threshold_tokens": policy.long_prefill_threshold_tokens > 0,
        "preemption=swap": policy.preemption == "swap",
        "whole_hit=nothing": replica.prefix_cache and policy.whole_hit == "nothing",
        "budget_unit=block": policy.budget_unit == "block",
        "lookahead_tokens": policy.lookahead_tokens > 0,
        "first_place": policy.first_place != "with_prompt",
        "keeps_copies=false": replica.prefix_cache and not replica.keeps_copies,
        "eviction": replica.prefix_cache and replica.eviction != "returned",
        "counting": replica.counting is not None,
        "priority_preempt": policy.priority_preempt != "memory_only",
        "in_batch=skip": (
            replica.prefix_cache
            and policy.in_batch == "skip"
            and isinstance(policy.ordering, LeastServed | Unskipped | Joining)
        ),
        "outputs longer than max_output_tokens": _reads_longest(policy)
        and given is not None
        and bool(np.any(requests.output_tokens > given)),
        f"budget_tokens={policy.budget_tokens} may be smaller than the decode batch "
        f"(max_seqs={policy.max_seqs})": policy.budget_tokens < policy.max_seqs,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _n_ledgers(policy: Policy) -> int:
    """Pieces that ask what the decodes produce; the fast engine tells one."""
    asks = policy.chunk_size == "slack", type(policy.admission) is Expected
    return sum(asks) + isinstance(policy.ordering, LeastServed)


def _reads_longest(policy: Policy) -> bool:
    return policy.admission.reserves or type(policy.admission) is Expected


def simulate(
    requests: Requests,
    policy: Policy,
    replica: Replica,
    *,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
) -> Records:
    """Serve ``requests`` on one replica and record what happens.

    Parameters
    ----------
    requests : Requests
        In order of arrival. Outputs stop at the longest sequence of the model.
    policy : Policy
    replica : Replica
    client_cap : int
        Requests in flight at the client at most; 0: no cap.
    think_s : float
        Seconds from the end of a request until its place is used again, >= 0.
    until_s : float
        Moment at which the clock is stopped, seconds, > 0.
    contents : Contents, optional
        What the prompts and outputs say, for the prefix cache (default: what the requests tell of it).

    Returns
    -------
    Records

    Raises
    ------
    ConfigError
        If an argument is out of its range, or the step time is not above zero.
    PlanError
        If requests are left that can never run (names one).

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> records = simulate(
    ...     Requests(arrival_s=[0.0, 0.5], prompt_tokens=[10, 30], output_tokens=[3, 1]),
    ...     Policy(name="chunked", budget_tokens=16, max_seqs=8),
    ...     Replica(step_time=ConstantStep(1.0), n_blocks=8),
    ... )
    >>> records.first_token_s.tolist(), records.finish_s.tolist()
    ([1.0, 3.0], [3.0, 3.0])
    """
    _check(client_cap, think_s, until_s)
    fill, requests = _prepare(requests, policy, replica)
    client: dict[str, Any] = {"client_cap": client_cap, "think_s": think_s}
    if fill is None:
        contents = contents or _contents(requests, replica)
        return reference.simulate(requests, policy, replica, until_s=until_s, contents=contents, **client)
    tape = CachedTape(len(requests)) if replica.prefix_cache else Tape(len(requests))
    state = _state(requests, policy, replica, tape, contents=contents, **client)
    end_s = _run(state, fill, until_s)
    return tape.records(requests, n_blocks=replica.n_blocks, end_s=end_s)


def measure(
    requests: Requests,
    policy: Policy,
    replica: Replica,
    slo: Slo,
    *,
    peak: Peak | None = None,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
) -> dict[str, Any]:
    """As `simulate`, but nothing is kept of a request or a step beyond sums and histograms.

    Parameters
    ----------
    requests, policy, replica, client_cap, think_s, until_s, contents
        As for `simulate`.
    slo : Slo
        What makes a request good.
    peak : Peak, optional
        Work of a load, for utilisation.

    Returns
    -------
    dict
        The fields of a `qtheory.system.results.RunResult` that a run decides; percentiles within 0.05 %.

    Raises
    ------
    ConfigError
        If the policy needs the reference engine, which keeps everything.
    PlanError
        As `simulate`.

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> numbers = measure(
    ...     Requests(arrival_s=[0.0, 0.5], prompt_tokens=[10, 30], output_tokens=[3, 1]),
    ...     Policy(name="chunked", budget_tokens=16, max_seqs=8),
    ...     Replica(step_time=ConstantStep(1.0), n_blocks=8),
    ...     Slo(ttft_s=2.0),
    ... )
    >>> numbers["n_finished"], numbers["goodput_frac"], round(numbers["mean_ttft_s"], 3)
    (2, 0.5, 1.75)
    """
    _check(client_cap, think_s, until_s)
    fill, requests = _prepare(requests, policy, replica)
    if fill is None:
        raise ConfigError(f"records: must be kept, as {why_stepwise(requests, policy, replica)}")
    meter = (CachedMeter if replica.prefix_cache else Meter)(slo, peak, policy)
    state = _state(
        requests, policy, replica, meter, contents=contents, client_cap=client_cap, think_s=think_s
    )
    end_s = _run(state, fill, until_s)
    return meter.numbers(n_requests=len(requests), n_blocks=replica.n_blocks, end_s=end_s)


def _check(client_cap: int, think_s: float, until_s: float) -> None:
    checks.at_least(0, client_cap=client_cap)
    checks.non_negative(think_s=think_s)
    if not until_s > 0:
        raise ConfigError(f"until_s: {until_s} must be > 0")


def _prepare(requests: Requests, policy: Policy, replica: Replica) -> tuple[Filling | None, Requests]:
    """What fills the steps, None if that needs the reference engine; and requests cut to the longest."""
    requests = cut_outputs(requests, replica.max_model_len_tokens)
    stepwise = why_stepwise(requests, policy, replica)
    return None if stepwise else filling(policy), requests


def _contents(requests: Requests, replica: Replica) -> Contents | None:
    return TextContents.of(requests) if replica.prefix_cache else None


def _state(
    requests: Requests,
    policy: Policy,
    replica: Replica,
    tape: Tape | Meter,
    *,
    contents: Contents | None,
    client_cap: int,
    think_s: float,
) -> State:
    """An empty replica, and those who will send it ``requests``."""
    flow: type[Inflow] = Inflow if requests.after is None else TurnInflow
    if not replica.prefix_cache:
        kind = CountedState if filling(policy) is chunked else State
        return kind(requests, policy, replica, flow(requests, cap=client_cap, think_s=think_s), tape)
    contents = contents or _contents(requests, replica)
    nodes: list[Node | None] = [None] * len(requests)
    if contents:
        with no_garbage():
            nodes = nodes_of(contents, requests, replica.block_tokens)
    inflow = flow(requests, cap=client_cap, think_s=think_s, nodes=nodes)
    return CachedState(requests, policy, replica, inflow, tape)


def _run(state: State, fill: Filling, until_s: float) -> float:
    """Run to the end; returns the clock there."""
    with no_garbage():
        if isinstance(state, CountedState):
            serve_alone(state, until_s)
        else:
            loop = CachedLoop if isinstance(state, CachedState) else Loop
            loop(state, fill, until_s).run()
    state.leave()
    return state.now_s
