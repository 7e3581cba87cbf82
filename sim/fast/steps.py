"""Sums over the prompts of a step, and over the steps of a run."""

from __future__ import annotations

import math

from qtheory.basics.errors import ConfigError
from qtheory.system.steptime import StepLoad

from .job import FastJob

__all__ = ["bad_seconds", "steps_until", "totals"]


def totals(chunks: list[tuple[FastJob, int]], n_sampled: int) -> tuple[int, float, int, int]:
    """Tokens, work and context of chunks, and the tokens sampled with theirs."""
    prefill, work, context = 0, 0.0, 0
    for job, tokens in chunks:
        before = job.computed_tokens
        prefill += tokens
        work += tokens * (before + (tokens + 1) * 0.5)
        context += before + tokens
        if before + tokens == job.known_tokens:
            n_sampled += 1
    return prefill, work, context, n_sampled


def steps_until(wait_s: float, first_s: float, slope_s: float) -> int:
    """Fewest steps, at least one, that take ``wait_s``; step i (0, 1, ...) takes first + i slope."""
    if slope_s > 0:
        half = first_s - slope_s / 2
        k = math.ceil((math.sqrt(max(half * half + 2 * slope_s * wait_s, 0.0)) - half) / slope_s)
    else:
        k = math.ceil(wait_s / first_s)
    k = max(k, 1)
    while k > 1 and (k - 1) * first_s + slope_s * ((k - 1) * (k - 2) // 2) >= wait_s:
        k -= 1
    while k * first_s + slope_s * (k * (k - 1) // 2) < wait_s:
        k += 1
    return k


def bad_seconds(seconds: float, load: StepLoad) -> ConfigError:
    """The error for a step that takes no time, or for ever."""
    return ConfigError(f"step_time: {seconds} seconds for {load}; a step must take a time > 0")
