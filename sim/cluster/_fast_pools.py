"""Prefill and decode pools without visiting every request in every step: whether that goes, and one pair."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim.engine import why_stepwise
from sim.fast.fill import chunked, filling
from sim.fast.garbage import no_garbage
from sim.fast.inflow import unfit
from sim.job import SAME_MOMENT_S
from sim.policies import Chunked, Fcfs, FirstChunk, FullPrompt, Policy
from sim.record import Records, Status, StepRuns
from sim.replica import Replica
from sim.routing import LeastRequests, PowerOfTwo, RandomChoice, RoundRobin

from ._fast_decode import LinkedDecodes, MemoryShortError
from ._fast_prefill import PromptSteps
from ._merge import merge_gaps, merge_steps
from ._prefill import prompts_of
from .member import Member

if TYPE_CHECKING:
    from .pools import Pools

__all__ = ["fast_pools", "is_pair", "why_pools_stepwise"]

_COUNTING = (LeastRequests, PowerOfTwo, RandomChoice, RoundRobin)  # routers that count requests, or nothing
_LEAST_TRANSFER_S = 10 * SAME_MOMENT_S  # below, its two ends fall into one moment of the clock


def why_pools_stepwise(requests: Requests, pools: Pools) -> str | None:
    """The reason why every step of every instance must be visited, or None if the fast engine will do.

    Parameters
    ----------
    requests : Requests
    pools : Pools

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> from .link import Link
    >>> from .member import Member
    >>> from .pools import Pools
    >>> one = Member(Policy(name="fcfs"), Replica(step_time=ConstantStep(1.0), n_blocks=40))
    >>> apart = Pools(prefill=[one], decode=[one, one], link=Link(tokens_per_s=100.0, n_layers=32))
    >>> why_pools_stepwise(Requests(arrival_s=[0.0], prompt_tokens=[100], output_tokens=[3]), apart)
    'layers sent one by one'
    """
    least = int(requests.prompt_tokens.min(initial=1))
    reasons = {
        "layers sent one by one": pools.link.n_layers > 1,
        "transfers in no time": pools.link.seconds(least) < _LEAST_TRANSFER_S,
        f"first_token={pools.first_token}": pools.first_token == "decode_recompute",
        "router": not all(type(one) in _COUNTING for one in (pools.prefill_router, pools.decode_router)),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), None)
    if reason is not None:
        return reason
    alone, seen = prompts_of(requests), list[Member]()
    for member in pools.prefill:
        if member not in seen and (reason := _why_prompts_stepwise(alone, member)) is not None:
            return reason
        seen.append(member)
    for member in pools.decode:
        if member not in seen and (reason := _why_decodes_stepwise(requests, member)) is not None:
            return reason
    return None


def _why_prompts_stepwise(alone: Requests, member: Member) -> str | None:
    policy, replica = member
    if type(policy.admission) not in (FullPrompt, FirstChunk):
        return "admission"
    if type(policy.ordering) is not Fcfs:
        return "ordering"
    if policy.chunk_size == "slack":
        return "chunk_size=slack"
    one_by_one = replace(policy, max_seqs=1)  # no decodes are beside the prompts
    return _why_instance_stepwise(policy, replica) or why_stepwise(alone, one_by_one, replica)


def _why_decodes_stepwise(requests: Requests, member: Member) -> str | None:
    policy, replica = member
    if type(policy.admission) not in (FullPrompt, FirstChunk):
        return "admission"
    if type(policy.ordering) is not Fcfs:
        return "ordering"
    if filling(policy) is not chunked:
        return "composition"
    return _why_instance_stepwise(policy, replica) or why_stepwise(requests, policy, replica)


def _why_instance_stepwise(policy: Policy, replica: Replica) -> str | None:
    reasons = {
        "prefix_cache": replica.prefix_cache,
        "shed": policy.shed.action != "none",
        "on_unfit": policy.on_unfit != "arrival",
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def is_pair(requests: Requests, pools: Pools, *, client_cap: int, until_s: float) -> bool:
    """Whether one prefill and one decode instance can be told apart from moments: `fast_pools` will do.

    Parameters
    ----------
    requests : Requests
    pools : Pools
        As `why_pools_stepwise` lets them through.
    client_cap : int
        Requests in flight at the client at most; 0: no cap.
    until_s : float
        Moment at which the clock is stopped, seconds.
    """
    return (
        len(pools.prefill) == len(pools.decode) == 1
        and client_cap == 0
        and requests.after is None
        and math.isinf(until_s)
        and pools.prefill[0].policy.composition == Chunked(whole_prompts=True)
        and type(pools.prefill[0].policy.admission) is FullPrompt
        and pools.prefill[0].policy.prefill_alloc == "chunk"
    )


def fast_pools(requests: Requests, pools: Pools) -> dict[str, Any] | None:
    """The fields of `PoolRecords`; None if a decode would be preempted.

    Parameters
    ----------
    requests : Requests
    pools : Pools
        For which `is_pair` holds.
    """
    (first,), (second,) = pools.prefill, pools.decode
    alone = prompts_of(requests)
    never = unfit(alone, *first) | (unfit(requests, *second) & _may_decode(requests))
    prompts = PromptSteps(requests, ~never, first)
    at_end = pools.first_token == "transfer_end"
    decodes = LinkedDecodes(len(requests), second, pools.link, prompts, tells_at_end=at_end)
    with no_garbage():
        try:
            decodes.run()
        except MemoryShortError:
            return None
    stop_s = max(prompts.now_s, decodes.now_s, float(np.max(requests.arrival_s[never], initial=0.0)))
    one = prompts.tape.records(alone, n_blocks=first.replica.n_blocks, end_s=stop_s)
    other = decodes.tape.records(requests, n_blocks=second.replica.n_blocks, end_s=stop_s)
    begin_s, end_s = decodes.link_times_s()
    is_sent = ~np.isnan(end_s)
    one = replace(one, steps=_with_held(one, end_s, first.replica.block_tokens))
    finish_s = np.where(is_sent, other.finish_s, one.finish_s)
    records = replace(
        one,  # nothing is computed again, or cached
        requests=requests,
        sent_s=requests.arrival_s,
        status=np.where(never, int(Status.REJECTED), int(Status.FINISHED)),
        first_token_s=np.where(is_sent & at_end, end_s, one.first_token_s),
        finish_s=np.where(never, requests.arrival_s, finish_s),
        gaps=merge_gaps((one, other)),
        steps=merge_steps((one, other))[0],
        n_blocks=one.n_blocks + other.n_blocks,
    )
    return {
        "records": records,
        "instances": (one, other),
        "prefill": np.where(never, -1, 0),
        "decode": np.where(is_sent, 0, -1),
        "prefill_start_s": one.first_scheduled_s,
        "prefill_end_s": one.finish_s,
        "transfer_start_s": begin_s,
        "transfer_end_s": end_s,
    }


def _may_decode(requests: Requests) -> NDArray[np.bool_]:
    """Which requests have more than one token of output, or might have had (n,)."""
    given = requests.max_output_tokens
    return np.maximum(requests.output_tokens, 0 if given is None else given) > 1


def _with_held(part: Records, end_s: NDArray[np.float64], block_tokens: int) -> StepRuns:
    """Steps with the blocks of prompts that were complete and whose transfer had not ended (n,) yet."""
    sent, steps = ~np.isnan(end_s), part.steps
    blocks = -(-part.requests.prompt_tokens[sent] // block_tokens)

    def until_now(moment_s: NDArray[np.float64]) -> NDArray[np.int64]:
        order = np.argsort(moment_s)
        sums = np.concatenate(([0], np.cumsum(blocks[order])))
        by = np.searchsorted(moment_s[order], steps.start_s + SAME_MOMENT_S, side="right")
        return np.asarray(sums[by])

    held = until_now(part.finish_s[sent]) - until_now(end_s[sent])
    return replace(steps, used_blocks=steps.used_blocks + held)
