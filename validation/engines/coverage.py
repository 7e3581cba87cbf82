"""Which rules a run reached, read from its records."""

from __future__ import annotations

import numpy as np

from sim.policies import Policy
from sim.record import Records, Status

__all__ = ["RULES", "rules_reached"]

RULES = ("preempts", "cuts prompts", "sheds", "hits a slot or block gate", "rejects", "demotes or reorders")
"""Names of what `rules_reached` looks for."""


def rules_reached(records: Records, policy: Policy) -> set[str]:
    """The members of `RULES` that a run with ``policy`` reached.

    Parameters
    ----------
    records : Records
        Of the reference engine: one row a step.
    policy : Policy

    Returns
    -------
    set of str
    """
    steps = records.steps
    tokens = steps.n_decodes + steps.prefill_tokens
    waits = steps.n_waiting > 0
    is_full = steps.n_running >= policy.max_seqs
    has_budget = (tokens < policy.budget_tokens) & (steps.prefill_tokens == 0)
    order = np.argsort(records.first_scheduled_s, kind="stable")
    found = {
        "preempts": np.any(records.n_preemptions > 0),
        "cuts prompts": np.any((steps.prefill_tokens > 0) & (steps.n_sampled == steps.n_decodes)),
        "sheds": np.any(records.status == Status.SHED),
        "hits a slot or block gate": np.any(waits & (is_full | has_budget)),
        "rejects": np.any(records.status == Status.REJECTED),
        "demotes or reorders": np.any(np.diff(order) < 0),
    }
    return {name for name, holds in found.items() if holds}
