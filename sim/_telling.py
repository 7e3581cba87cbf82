"""What is said of a step: its load for the step-time model, its iteration for an observer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad

from ._pass import SchedulingPass
from ._state import State
from .job import Job
from .observe import Event, Iteration
from .replica import Replica

__all__ = ["load_of", "seconds_of", "told"]


def load_of(tokens: Mapping[Job, int]) -> StepLoad:
    """What a step computes, in the terms of the step-time models."""
    n_decodes = context = prefill = prefill_context = n_sampled = 0
    work = 0.0
    for job, n in tokens.items():
        before = job.computed_tokens
        if job.is_prefilling:
            prefill += n
            work += n * before + n * (n + 1) / 2
            prefill_context += before + n
            n_sampled += before + n == job.known_tokens
        else:
            n_decodes += 1
            context += before + 1
            n_sampled += 1
    return StepLoad(n_decodes, context, prefill, work, prefill_context, n_sampled)


def seconds_of(replica: Replica, tokens: Mapping[Job, int], load: StepLoad, n_moved_blocks: int) -> float:
    """How long a step of that load takes; a replica may count in its own way what the step computes."""
    counted = load if replica.counting is None else replica.counting(tokens)
    seconds = replica.step_time.step_s(counted) + n_moved_blocks * replica.swap_s_per_block
    if not 0 < seconds < math.inf:
        raise ConfigError(f"step_time: {seconds} seconds for {counted}; a step must take a time > 0")
    return seconds


def told(
    step: SchedulingPass,
    state: State,
    span_s: tuple[float, float],
    phases: Mapping[int, tuple[str, int]],
    finished: Sequence[int],
    *,
    events: Sequence[Event],
) -> Iteration:
    """One pass and the step that it led to, in the terms of an observer."""
    ledger = state.waiting.ledger
    return Iteration(
        start_s=span_s[0],
        end_s=span_s[1],
        batch=phases,
        cached={job.position: n for job, n in step.cached.items()},
        preempted=[job.position for job in step.preempted],
        swapped_out={job.position: n for job, n in step.swapped_out.items()},
        swapped_in={job.position: n for job, n in step.swapped_in.items()},
        finished=finished,
        free_blocks=state.memory.n_free,
        events=events,
        counters=ledger.counters() if ledger else {},
    )
