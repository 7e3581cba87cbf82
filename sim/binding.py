"""What waiting requests wait for: which limit binds, read from the steps."""

from __future__ import annotations

import numpy as np

from .policies import Policy
from .record import StepRuns

__all__ = ["waiting_shares"]


def waiting_shares(steps: StepRuns, policy: Policy, *, span_s: float) -> dict[str, float]:
    """Shares of a span in which somebody waits for a place, for tokens, or for memory.

    A step with waiting requests is laid to the running requests if as many run as may, else to the token
    budget if it is spent (or, with whole prompts or chunks sized by slack, if prompts are computed: the rest
    is too little for the next one, or must stay free), else to the KV memory: then places and tokens are
    left, but no blocks.

    Parameters
    ----------
    steps : StepRuns
    policy : Policy
        Whose limits are in force.
    span_s : float
        What the shares are of, seconds.

    Returns
    -------
    dict of str to float
        ``waits_for_slots_frac``, ``waits_for_budget_frac``, ``waits_for_memory_frac``.

    Examples
    --------
    >>> from sim.engine import simulate
    >>> from sim.policies import Policy
    >>> from sim.replica import Replica
    >>> from sim.testing import ConstantStep
    >>> from qtheory.system.workload.request import Requests
    >>> requests = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[4, 4], output_tokens=[4, 4])
    >>> policy = Policy(name="chunked", max_seqs=1, budget_tokens=64)
    >>> records = simulate(requests, policy, Replica(step_time=ConstantStep(1.0), n_blocks=8))
    >>> waiting_shares(records.steps, policy, span_s=8.0)["waits_for_slots_frac"]
    0.5
    """
    seconds = (steps.end_s - steps.start_s) * (steps.n_waiting > 0)
    full = steps.n_running >= policy.max_seqs
    spent = steps.n_decodes + steps.prefill_tokens >= policy.budget_tokens
    if policy.composition.whole_prompts or policy.chunk_size == "slack":
        spent = spent | (steps.prefill_tokens > 0)
    spent = ~full & spent
    per_s = 1 / span_s if span_s > 0 else 0.0
    return {
        "waits_for_slots_frac": float(np.sum(seconds[full])) * per_s,
        "waits_for_budget_frac": float(np.sum(seconds[spent])) * per_s,
        "waits_for_memory_frac": float(np.sum(seconds[~full & ~spent])) * per_s,
    }
