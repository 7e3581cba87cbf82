"""Rules of an engine with a radix tree, as a published simulator has them: pieces of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from sim.job import JobView
from sim.plan import PlanBuilder, View
from sim.policies import Account, Expected

__all__ = ["ExpectedRoom", "FewestOutputFirst", "PrefillFirstRoom"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillFirstRoom:
    """As `PrefillFirstChunked`, but an unfinished prompt goes on only if the gate finds room for it.

    Parameters
    ----------
    stands_by_prefix : bool
        Whether an unfinished prompt takes its place in the queue by what it has in the cache; else it is
        first.

    Examples
    --------
    >>> PrefillFirstRoom().whole_prompts
    False
    """

    whole_prompts: ClassVar[bool] = False

    stands_by_prefix: bool = False

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Prompts up to the first that is cut or does not fit, or else the decodes."""
        self._fill_prompts(view, plan)
        if plan.is_empty:
            plan.continue_running()
        if (
            plan.is_empty and not plan.n_preempted
        ):  # nothing decodes: a prompt goes on, whoever stands before it
            next((job for job in view.running if plan.run(job)), None)

    def _fill_prompts(self, view: View, plan: PlanBuilder) -> None:
        unfinished = [job for job in view.running if job.is_prefilling]
        prefix = {job.position: max(job.computed_tokens, view.cached_tokens(job)) for job in unfinished}
        unfinished.sort(key=lambda job: -prefix[job.position])
        for job in view.waiting:
            cached = view.cached_tokens(job) if unfinished and self.stands_by_prefix else 0
            while unfinished and prefix[unfinished[0].position] >= cached:
                if not _goes_on(plan, unfinished.pop(0)):
                    return
            if not plan.admit(job) or plan.is_cut(job):
                return
        for job in unfinished:
            if not _goes_on(plan, job):
                return


def _goes_on(plan: PlanBuilder, job: JobView) -> bool:
    """Whether an unfinished prompt runs, and comes to its end, so that another may follow."""
    return plan.run(job) and not plan.is_cut(job)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRoom:
    """As `Expected`, in whole blocks: a newcomer's chunk and longest output must fit, with nothing to spare.

    Parameters
    ----------
    block_tokens : int
        Tokens of a block.
    share : Expected
        What is expected of the running jobs.
    forgets_hits : bool
        Whether room is what was free when the pass began, less what newcomers compute and may produce: free
        blocks that they reuse are not taken off.

    Examples
    --------
    >>> ExpectedRoom(block_tokens=64).share
    Expected(conservativeness=1.0)
    """

    reserves: ClassVar[bool] = False

    block_tokens: int
    share: Expected = field(default_factory=Expected)
    forgets_hits: bool = False

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """The end of the chunk; room for more is judged by the account."""
        return chunk_end_tokens

    def open_account(self) -> Account:
        """The share at its start."""
        return _Room(self)


class _Room:
    """The account of `ExpectedRoom`."""

    def __init__(self, gate: ExpectedRoom) -> None:
        self._gate = gate
        self._share = gate.share.open_account()
        self.forgets_hits = gate.forgets_hits

    def kept_tokens(self, running: Iterable[JobView]) -> float:
        """A share of what each may still produce."""
        return self._share.kept_tokens(running)

    def continued(self, running: Sequence[JobView], *, is_short: bool) -> None:
        """The share falls, or jumps after a shortage."""
        self._share.continued(running, is_short=is_short)

    def leaves_room(
        self, job: JobView, running: Sequence[JobView], *, chunk: tuple[int, int], free_tokens: int
    ) -> bool:
        """Whether chunk, in whole blocks, and output (unless the prompt is cut) are less than is free."""
        reused, end = chunk
        size = self._gate.block_tokens
        output = 0 if end < job.known_tokens else self._gate.share.left_tokens(job)
        return -(-(end - reused) // size) * size + output < free_tokens - self.kept_tokens(running)


@dataclass(frozen=True, slots=True)
class FewestOutputFirst:
    """The fewest output tokens; of equals the one that was admitted first.

    Examples
    --------
    >>> FewestOutputFirst().whole_batch
    True
    """

    whole_batch: ClassVar[bool] = True

    def choose(self, running: Sequence[J]) -> J:
        """The least advanced."""
        return min(running, key=lambda job: (job.is_prefilling, job.n_outputs))
