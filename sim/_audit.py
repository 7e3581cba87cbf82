"""Identities that hold on every path; a violation is an error of this program, never of its input."""

from __future__ import annotations

import math
from collections.abc import Iterable

from qtheory.basics.errors import ServingError

from ._log import Log
from ._state import State
from .job import Job

__all__ = ["audit_job", "audit_run"]


def audit_job(job: Job) -> None:
    """A finished job has computed every token but the last, less what it reused, plus what it lost."""
    expected = job.known_tokens - 1 + job.expected_tokens
    if job.total_computed_tokens != expected:
        raise ServingError(
            f"internal check failed: request {job.position} computed {job.total_computed_tokens} tokens, "
            f"not {expected}"
        )


def audit_run(log: Log, state: State, *, area_s: float, end_s: float, others: Iterable[int] = ()) -> None:
    """Tokens of steps and jobs agree, idle blocks are free, and Little's law holds on this path.

    Requests ``others`` hold blocks and do not run.
    """
    if log.n_step_tokens != log.n_job_tokens:
        raise ServingError(
            f"internal check failed: steps computed {log.n_step_tokens} tokens, jobs {log.n_job_tokens}"
        )
    holders = (*(job.position for job in state.running), *others)
    held = {block for position in holders for block in state.memory.blocks(position)}
    if state.memory.n_free + len(held) != state.replica.n_blocks:
        raise ServingError(
            f"internal check failed: {state.memory.n_free} blocks are free and {len(held)} held, "
            f"of {state.replica.n_blocks}"
        )
    sojourn_s = sum(
        (end_s if math.isnan(finish_s) else finish_s) - sent_s
        for sent_s, finish_s in zip(log.sent_s, log.finish_s, strict=True)
        if not math.isnan(sent_s)
    )
    if not math.isclose(area_s, sojourn_s, rel_tol=1e-6, abs_tol=1e-6):
        raise ServingError(
            f"internal check failed: jobs inside integrate to {area_s:g} s, sojourns sum to {sojourn_s:g} s"
        )
