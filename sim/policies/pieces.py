"""The pieces a policy is made of, as protocols: ordering, composition, admission gate, victim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from sim.job import JobView
from sim.plan import PlanBuilder, View

__all__ = [
    "Account",
    "Composition",
    "DynamicOrdering",
    "ExpectingGate",
    "Gate",
    "JudgingAccount",
    "Ledger",
    "Ordering",
    "Victim",
]

J = TypeVar("J", bound=JobView)


class Ordering(Protocol):
    """Order of the waiting queue by a key that does not change while a job waits; smallest first.

    A new job goes behind its equals, a preempted one in front of them; so a constant key is first come, first
    served, with preempted jobs at the head.
    """

    def key(self, job: JobView) -> tuple[float, ...]:
        """What the queue is sorted by."""
        ...


class Ledger(Protocol):
    """State that an ordering keeps for one run; the engine tells it what happens."""

    def arrived(self, job: JobView) -> None:
        """``job`` reached the replica and waits."""
        ...

    def returned(self, job: JobView) -> None:
        """``job`` was preempted and waits again."""
        ...

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        """``job`` does not wait any more: admitted, or given up."""
        ...

    def sampled(self, job: JobView) -> None:
        """``job`` produced a token."""
        ...

    def counters(self) -> dict[int, float]:
        """What the ledger holds, by client."""
        ...


@runtime_checkable
class DynamicOrdering(Protocol):
    """Order of the waiting queue that is made anew at every pass, from jobs in order of arrival."""

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """The jobs in order; consumed while jobs are admitted, so it may look at what changes by that."""
        ...

    def open_ledger(self) -> Ledger | None:
        """Fresh state for one run, or None if the order needs none."""
        ...


class Composition(Protocol):
    """How a step is filled."""

    @property
    def whole_prompts(self) -> bool:
        """Whether a prompt is computed in one step: then one beyond the token budget can never run."""
        ...

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Choose what the step computes, with the primitives of ``plan``."""
        ...


class Gate(Protocol):
    """Tokens for which a job must find free blocks to be admitted."""

    @property
    def reserves(self) -> bool:
        """Whether blocks that running jobs were charged for and have not taken are kept for them."""
        ...

    def tokens(self, job: JobView, chunk_end_tokens: int) -> int:
        """Tokens to find blocks for, when the first chunk ends after ``chunk_end_tokens``."""
        ...


class Account(Protocol):
    """What a gate expects of the running jobs in one run; the engine tells it what happens."""

    def kept_tokens(self, running: Iterable[JobView]) -> float:
        """Free tokens that ``running`` will need in all likelihood: nobody else is let in for them."""
        ...

    def continued(self, running: Sequence[JobView], *, is_short: bool) -> None:
        """The running jobs took another step, if ``is_short`` after others had to be preempted for it."""
        ...


@runtime_checkable
class ExpectingGate(Protocol):
    """A gate that also keeps tokens free for what running jobs are expected to produce.

    A newcomer must leave more than a block beside them, unless nobody runs.
    """

    def open_account(self) -> Account:
        """Fresh state for one run."""
        ...


@runtime_checkable
class JudgingAccount(Protocol):
    """An account with its own rule of room, in place of that of `ExpectingGate`."""

    @property
    def forgets_hits(self) -> bool:
        """Whether free blocks that newcomers of a pass reuse are still counted as free for the next one."""
        ...

    def leaves_room(
        self, job: JobView, running: Sequence[JobView], *, chunk: tuple[int, int], free_tokens: int
    ) -> bool:
        """Whether ``job`` may come in beside ``running``, where its first chunk finds its blocks.

        ``chunk`` has the tokens that it reuses and those after which its first chunk ends.
        """
        ...


class Victim(Protocol):
    """Who loses its blocks on a shortage."""

    @property
    def whole_batch(self) -> bool:
        """Whether the need of the whole batch is met before any of it is planned."""
        ...

    def choose(self, running: Sequence[J]) -> J:
        """One of ``running`` (in order of admission, not empty)."""
        ...
