"""What can never run, found when it arrives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qtheory.system.workload.request import Requests

from .job import JobView
from .policies import Policy
from .replica import Replica

__all__ = ["cut_outputs", "why_unfit"]


def cut_outputs(requests: Requests, max_model_len_tokens: int) -> Requests:
    """Requests whose outputs stop at the longest sequence of the model (0: no limit)."""
    room = np.maximum(max_model_len_tokens - requests.prompt_tokens, 1)  # (n,)
    if max_model_len_tokens == 0 or np.all(requests.output_tokens <= room):
        return requests
    return replace(requests, output_tokens=np.minimum(requests.output_tokens, room))


def why_unfit(job: JobView, policy: Policy, replica: Replica) -> str | None:
    """The reason why ``job`` could never be served to its longest output, or None."""
    limit, prompt = replica.max_model_len_tokens, job.prompt_tokens
    longest = job.max_output_tokens
    if limit:
        if prompt > limit - 1:
            return f"a prompt of {prompt} tokens leaves no room for output in {limit}"
        longest = min(longest, limit - prompt)
    one_step = policy.long_prefill_threshold_tokens or prompt + longest
    if policy.composition.whole_prompts and min(prompt, one_step) > policy.budget_tokens:
        return f"a whole prompt of {prompt} tokens exceeds the budget of {policy.budget_tokens}"
    one_step = min(one_step, policy.budget_tokens)
    stored = prompt + longest - 1
    wanted = max(stored, policy.admission.tokens(job, min(prompt, one_step)))
    spare = policy.watermark_blocks(replica.n_blocks) if policy.watermark_scope == "always" else 0
    if policy.append_rule == "conservative" and stored > one_step:
        spare = max(spare, 1)  # its last chunks ask for a free block that they do not use
    needed = -(-wanted // replica.block_tokens) + spare
    if needed > replica.n_blocks:
        return f"{needed} blocks are needed, but there are {replica.n_blocks}"
    return None
