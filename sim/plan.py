"""What a composition works with: a read-only view of the replica, and primitives that build a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from qtheory.basics.errors import PlanError

from .job import JobView

__all__ = ["PlanBuilder", "View", "check_plan"]

J = TypeVar("J", bound=JobView)


class View(Protocol):
    """The replica at the start of a step, read only."""

    @property
    def now_s(self) -> float:
        """Moment of the scheduling pass, seconds."""
        ...

    @property
    def waiting(self) -> Iterator[JobView]:
        """Waiting jobs in the order of the policy; may be changed by admissions while it is read."""
        ...

    @property
    def running(self) -> Sequence[JobView]:
        """Running jobs in the order of their admission, as they are now."""
        ...

    @property
    def n_swapped(self) -> int:
        """Jobs whose blocks are on the host."""
        ...

    @property
    def n_free_blocks(self) -> int:
        """Free blocks of KV memory, cached ones included."""
        ...

    @property
    def block_tokens(self) -> int:
        """Tokens of a block."""
        ...

    @property
    def has_prefix_cache(self) -> bool:
        """Whether prefixes are found in memory."""
        ...

    def block_keys(self, job: JobView) -> Sequence[int]:
        """Keys of the full blocks of its known tokens; equal keys mean equal prefixes."""
        ...

    def text(self, job: JobView) -> tuple[str, Sequence[int]]:
        """Cache salt and numbers of its known tokens; under one salt equal numbers mean equal tokens."""
        ...

    def cached_tokens(self, job: JobView) -> int:
        """Known tokens that would be reused if it were admitted now."""
        ...

    def alone_s(self, job: JobView) -> float:
        """Seconds until its next token if it were served alone from now on, in chunks of the whole budget."""
        ...


class PlanBuilder(Protocol):
    """Primitives of a step. They keep the token budget, the slots and the memory; a policy only chooses."""

    @property
    def budget_left_tokens(self) -> int:
        """Tokens that the step may still compute."""
        ...

    @property
    def n_preempted(self) -> int:
        """Jobs that lost their blocks to a shortage in this pass; then nobody is admitted."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether nothing is computed so far."""
        ...

    def run(self, job: JobView) -> bool:
        """Let a running job compute what it misses, as far as the budget goes, preempting on shortage.

        False if it was itself preempted or nothing of the budget is left.
        """
        ...

    def continue_running(self) -> None:
        """`run` all running jobs that are not in the step yet, in the order of their admission."""
        ...

    def admit(self, job: JobView, *, whole: bool = False) -> bool:
        """Let a waiting job in if every gate is open; with ``whole`` only if all it misses fits the budget.

        False if nobody behind it may be tried.
        """
        ...

    def swap_in(self) -> None:
        """Bring jobs back from the host, first out first in, each with its next token."""
        ...

    def is_cut(self, job: JobView) -> bool:
        """Whether the job is in the step, but will not be complete after it."""
        ...


def check_plan(
    policy: str,
    tokens: Mapping[J, int],
    running: Sequence[J],
    *,
    budget_tokens: int,
    max_seqs: int,
) -> None:
    """Raise `PlanError` if a step breaks a limit.

    Parameters
    ----------
    policy : str
        Name for the message.
    tokens : mapping of job to int
        Tokens that each job computes.
    running : sequence of jobs
        Those that hold blocks.
    budget_tokens, max_seqs : int
        Limits of the step.

    Raises
    ------
    PlanError
        Naming policy, job and limit.

    Examples
    --------
    >>> check_plan("mine", {}, [], budget_tokens=512, max_seqs=8)
    """
    if len(running) > max_seqs:
        raise PlanError(f"policy {policy!r}: {len(running)} running jobs, but max_seqs={max_seqs}")
    total = sum(tokens.values())
    if total > budget_tokens:
        raise PlanError(f"policy {policy!r}: {total} tokens in a step, but budget_tokens={budget_tokens}")
    for job, n in tokens.items():
        missing = job.known_tokens - job.computed_tokens
        if not 1 <= n <= missing:
            raise PlanError(
                f"policy {policy!r}: request {job.position} is to compute {n} tokens, but misses {missing}"
            )
