"""What a prediction starts from: step times as functions of batch and prompt tokens, and the limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qtheory.system.replica import ReplicaSpec
from qtheory.system.steptime import StepLoad, StepTime

from ._work import Work
from .demand import Demand

__all__ = ["Engine", "engine_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A replica as the models see it: seconds of a step, and its limits.

    Parameters
    ----------
    step_time : StepTime
    demand : Demand
        Gives contexts and depths, which are taken at their means.
    budget_tokens, max_seqs : int
        Tokens of a step, and running requests, at most.
    kv_tokens : float
        Tokens that the KV memory holds.
    block_tokens : int
    cuts_prompts : bool
        Whether a prompt may be computed in parts.
    counts_tokens : bool
        Whether scarce memory is counted by what each request holds; by places of mean requests if not.

    Examples
    --------
    >>> from qtheory.predict.demand import demand_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.workload.profiles import find_profile
    >>> spec = replica_of(Scenario(hardware="a100", model="llama-3.1-8b"))
    >>> engine = engine_of(spec, demand_of(find_profile("chat").workload(n_requests=1)))
    >>> print(f"{1000 * engine.decode_s(32):.1f} ms, {1000 * engine.step_s(2016, 32):.1f} ms")
    14.8 ms, 133.4 ms
    """

    step_time: StepTime
    demand: Demand
    budget_tokens: int
    max_seqs: int
    kv_tokens: float
    block_tokens: int
    cuts_prompts: bool = False
    counts_tokens: bool = False

    def step_s(self, prompt_tokens: float, n_decodes: float) -> float:
        """Seconds of a step of ``n_decodes`` decodes and this many tokens of average prompts."""
        demand = self.demand
        load = StepLoad(
            n_decodes=n_decodes,  # type: ignore[arg-type]  # means need not be whole
            decode_context_tokens=n_decodes * demand.mean_context,  # type: ignore[arg-type]
            prefill_tokens=prompt_tokens,  # type: ignore[arg-type]
            prefill_work=prompt_tokens * demand.mean_depth,
            prefill_context_tokens=prompt_tokens,  # type: ignore[arg-type]
            n_sampled=n_decodes + prompt_tokens / demand.mean_prompt,  # type: ignore[arg-type]
        )
        return self.step_time.step_s(load)

    def steps_s(self, prompt_tokens: Floats | float, n_decodes: Floats | float) -> Floats:
        """`step_s` of arrays that broadcast, at once where the step time can."""
        demand = self.demand
        tokens, n = np.broadcast_arrays(np.asarray(prompt_tokens, float), np.asarray(n_decodes, float))
        many = getattr(self.step_time, "steps_s", None)
        if many is None:
            each = zip(tokens.ravel().tolist(), n.ravel().tolist(), strict=True)
            return np.array([self.step_s(t, k) for t, k in each]).reshape(tokens.shape)
        load = (n, n * demand.mean_context, tokens, tokens * demand.mean_depth, tokens)
        return np.asarray(many((*load, n + tokens / demand.mean_prompt)))

    def decode_s(self, n_decodes: float) -> float:
        """Seconds of a step of decodes alone; of one decode if there are fewer."""
        return self.step_s(0.0, max(n_decodes, 1.0))

    def slower_by(self, n_decodes: float) -> tuple[float, float]:
        """Relative growth of a step of decodes with what runs; and the part of it that is by their tokens."""
        context = n_decodes * self.demand.mean_context
        base = StepLoad(n_decodes, context, 0, 0.0, 0, n_decodes)  # type: ignore[arg-type]
        more = base._replace(decode_context_tokens=1.01 * context)  # type: ignore[arg-type]
        here = self.step_time.step_s(base)
        by_tokens = (self.step_time.step_s(more) / here - 1) / 0.01
        whole = (self.decode_s(1.01 * n_decodes) / here - 1) / 0.01
        return min(max(whole, 0.0), 0.95), min(max(by_tokens, 0.0), 0.95)

    @cached_property
    def kv_slots(self) -> float:
        """Requests that the KV memory holds in the mean: a prompt that does not fit leaves room unused."""
        demand = self.demand
        unused = demand.prompt_moment(2) / (2 * demand.mean_prompt)
        each = demand.mean_context + (self.block_tokens - 1) / 2
        return max(1.0, (self.kv_tokens - unused) / each)

    @property
    def slots(self) -> float:
        """Requests that run at once at most."""
        return min(float(self.max_seqs), self.kv_slots)

    @property
    def is_kv_limited(self) -> bool:
        """Whether memory ends before the slots do."""
        return self.kv_slots < self.max_seqs

    @property
    def is_memory_work(self) -> bool:
        """Whether the work of a request is what it holds of memory over its decode steps."""
        return self.is_kv_limited and self.counts_tokens

    @cached_property
    def work(self) -> Work:
        """What requests take of slots, or of the memory if that ends before."""
        if self.is_memory_work:
            return Work.of_memory(self.demand, self.block_tokens)
        return Work.of_places(self.demand)

    @cached_property
    def weighted_tokens(self) -> Floats:
        """Prompts (k,) in tokens of average depth: a long prompt costs more a token than a short one.

        Where prompts are cut, a token brings its part of what a full step costs in any case; a long prompt
        then takes longer steps, and hardly more of them.
        """
        demand, large = self.demand, float(self.budget_tokens)
        base = StepLoad(0, 0, large, large * demand.mean_depth, large, 1)  # type: ignore[arg-type]
        wider = base._replace(prefill_tokens=1.01 * large, prefill_context_tokens=1.01 * large)  # type: ignore[arg-type]
        deeper = base._replace(prefill_work=1.01 * base.prefill_work)
        at_base = self.step_time.step_s(base)
        per_token = (self.step_time.step_s(wider) - at_base) / (0.01 * large)
        per_pair = (self.step_time.step_s(deeper) - at_base) / (0.01 * base.prefill_work)
        if per_token + per_pair * demand.mean_depth <= 0:
            return demand.prompt_tokens
        tokens = demand.prompt_tokens
        fixed = max(at_base / large - per_token - per_pair * demand.mean_depth, 0.0) * self.cuts_prompts
        cost = tokens * (per_token + fixed + per_pair * (tokens + 1) / 2)
        return np.asarray(cost * demand.mean_prompt / (cost @ demand.prompt_probs))


def engine_of(replica: ReplicaSpec, demand: Demand) -> Engine:
    """The replica as the models see it.

    Parameters
    ----------
    replica : ReplicaSpec
    demand : Demand

    Examples
    --------
    >>> from qtheory.predict.demand import demand_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.workload.profiles import find_profile
    >>> demand = demand_of(find_profile("chat").workload(n_requests=1))
    >>> engine_of(replica_of(Scenario(hardware="a100", max_seqs=64)), demand).slots
    64.0
    """
    scheduler = replica.scheduler
    return Engine(
        step_time=replica.step_time,
        demand=demand,
        budget_tokens=replica.budget_tokens,
        max_seqs=scheduler.max_seqs or 128,
        kv_tokens=float(replica.n_blocks * replica.block_tokens),
        block_tokens=replica.block_tokens,
        cuts_prompts=not scheduler.whole_prompts,
    )
