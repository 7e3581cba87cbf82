"""What a request takes of a full step: weights of controls, in the step times of the simulator alone."""

from __future__ import annotations

import math

from qtheory.system.replica import ReplicaSpec
from qtheory.system.steptime import StepLoad
from qtheory.system.workload import Workload
from validation.refine import Work

__all__ = ["work_of"]


def work_of(spec: ReplicaSpec, workload: Workload) -> Work:
    """Seconds of a prompt token and a decode step in a full step.

    Contexts are means, and as many requests run as have places or whole sequences room.
    """
    lengths = workload.lengths
    prompt, output = lengths.mean_prompt_tokens, lengths.mean_output_tokens
    room = spec.n_blocks * spec.block_tokens / (prompt + output)
    n = max(1, min(spec.scheduler.max_seqs or math.ceil(room), math.floor(room)))
    tokens = max(spec.budget_tokens, 1)
    decode = StepLoad(n_decodes=n, decode_context_tokens=math.ceil(n * (prompt + output / 2)), n_sampled=n)
    depth = lengths.moment(2, 0) / prompt / 2
    mixed = decode._replace(prefill_tokens=tokens, prefill_work=tokens * depth, prefill_context_tokens=tokens)
    step_s = spec.step_time.step_s(decode)
    prompt_s = (spec.step_time.step_s(mixed) - step_s) / tokens
    decode_s = step_s / n
    return Work(
        prompt_s=prompt_s, decode_s=decode_s, mean_s=prompt_s * prompt + decode_s * max(output - 1, 0.0)
    )
