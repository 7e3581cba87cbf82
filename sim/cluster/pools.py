"""Prefill and decode instances apart, with a link between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim._unfit import cut_outputs
from sim.kvcache import Contents
from sim.kvcache.texts import TextContents
from sim.observe import Observer
from sim.record import Records
from sim.routing import LeastRequests, Router

from ._fast_pools import fast_pools, is_pair, why_pools_stepwise
from ._paced_run import PacedRun
from ._pools import PoolRun
from .link import Link
from .member import Member

__all__ = ["FIRST_TOKENS", "PoolRecords", "Pools", "simulate_pools"]

FIRST_TOKENS = ("prefill_end", "transfer_end", "decode_recompute")
"""Where the first token is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Instances that only prefill, instances that only decode, and the way between them [1]_, [2]_, [3]_.

    A prompt keeps its blocks on the prefill side until it has been sent. A transfer begins when its link is
    free and the decode side has the blocks of the prompt, which are then its own; nobody overtakes on a link
    or at a decode instance. With ``decode_recompute`` the decode side computes the last prompt token again
    and samples the first token itself; else a request with one output token is never sent.

    Parameters
    ----------
    prefill, decode : sequence of Member
        At least one each. Budgets hold whole prompts or not, as the policy of a prefill instance says; the
        budget of a decode instance should hold a whole sequence, since a preempted one is computed at once.
    link : Link
    first_token : str
        When the first token is counted: at the ``prefill_end``, at the ``transfer_end``, or when the decode
        side has it, ``decode_recompute``.
    prefill_router, decode_router : Router
        Who gets a new request, and who gets a prompt that is complete.

    Raises
    ------
    ConfigError
        If a pool is empty, block sizes differ or a word is unknown.

    References
    ----------
    .. [1] Zhong et al. (2024), "DistServe: disaggregating prefill and decoding for goodput-optimized large
       language model serving", OSDI 24.
    .. [2] Patel et al. (2024), "Splitwise: efficient generative LLM inference using phase splitting",
       ISCA 24.
    .. [3] Qin et al. (2025), "Mooncake: trading more storage for less computation", FAST 25.

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=40))
    >>> Pools(prefill=[one], decode=[one, one], link=Link(tokens_per_s=100.0)).first_token
    'prefill_end'
    """

    prefill: Sequence[Member]
    decode: Sequence[Member]
    link: Link
    first_token: str = "prefill_end"
    prefill_router: Router = field(default_factory=LeastRequests)
    decode_router: Router = field(default_factory=LeastRequests)

    def __post_init__(self) -> None:
        checks.one_of("first_token", self.first_token, FIRST_TOKENS)
        for name in ("prefill", "decode"):
            if not getattr(self, name):
                raise ConfigError(f"{name}: there must be at least one instance")
        sizes = {member.replica.block_tokens for member in (*self.prefill, *self.decode)}
        if len(sizes) > 1:
            raise ConfigError(f"block_tokens: {min(sizes)} and {max(sizes)}; blocks must be of one size")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolRecords:
    """What a run of pools leaves behind; arrays of shape (n,), NaN or -1 where something never came.

    Parameters
    ----------
    records : Records
        Of all requests; the steps are those of all instances, prefill instances first where they coincide.
    prefill, decode : array of int
        Instance that served each request, -1 if none.
    prefill_start_s, prefill_end_s, transfer_start_s, transfer_end_s : array of float
        Moments, seconds.
    instances : tuple of Records
        What each instance saw, prefill instances first.

    Examples
    --------
    >>> PoolRecords.__slots__[:2]
    ('records', 'prefill')
    """

    records: Records
    prefill: NDArray[np.int64]
    decode: NDArray[np.int64]
    prefill_start_s: NDArray[np.float64]
    prefill_end_s: NDArray[np.float64]
    transfer_start_s: NDArray[np.float64]
    transfer_end_s: NDArray[np.float64]
    instances: tuple[Records, ...]


def simulate_pools(
    requests: Requests,
    pools: Pools,
    *,
    client_cap: int = 0,
    think_s: float = 0.0,
    until_s: float = math.inf,
    contents: Contents | None = None,
    seed: int = 0,
    observers: Sequence[Observer] = (),
) -> PoolRecords:
    """Serve ``requests`` with prefill and decode apart.

    At one moment steps and transfers end first, then requests arrive, then transfers and steps begin.

    Parameters
    ----------
    requests : Requests
        In order of arrival. Outputs stop at the longest sequence of the model.
    pools : Pools
    client_cap : int
        Requests in flight at the client at most; 0: no cap.
    think_s : float
        Seconds from the end of a request until its place is used again, >= 0.
    until_s : float
        Moment at which the clock is stopped, seconds, > 0.
    contents : Contents, optional
        What the prompts say (default: what the requests tell of it).
    seed : int
        Of routers that draw.
    observers : sequence of callable
        One for each instance, prefill instances first, or none.

    Returns
    -------
    PoolRecords

    Raises
    ------
    ConfigError
        If an argument is out of its range.

    Examples
    --------
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=40))
    >>> pools = Pools(prefill=[one], decode=[one], link=Link(tokens_per_s=100.0, latency_s=0.5))
    >>> asked = Requests(arrival_s=[0.0], prompt_tokens=[100], output_tokens=[3])
    >>> found = simulate_pools(asked, pools)
    >>> found.transfer_end_s.tolist(), found.records.finish_s.tolist()
    ([2.5], [4.5])
    """
    checks.at_least(0, client_cap=client_cap, seed=seed)
    checks.non_negative(think_s=think_s)
    if not until_s > 0:
        raise ConfigError(f"until_s: {until_s} must be > 0")
    limits = {member.replica.max_model_len_tokens for member in (*pools.prefill, *pools.decode)} - {0}
    requests = cut_outputs(requests, min(limits, default=0))
    if not observers and why_pools_stepwise(requests, pools) is None:
        found = None
        if is_pair(requests, pools, client_cap=client_cap, until_s=until_s):
            found = fast_pools(requests, pools)
        if found is None:  # several of a kind, or decodes that are preempted
            run = PacedRun(requests, pools, client_cap=client_cap, think_s=think_s, seed=seed)
            found = run.run(until_s)
        return PoolRecords(**found)
    slow = PoolRun(
        requests,
        pools,
        contents or TextContents.of(requests) or Contents.unique(len(requests)),
        client_cap=client_cap,
        think_s=think_s,
        seed=seed,
        observers=observers,
    )
    slow.run(until_s)
    return PoolRecords(**slow.result())
