"""Pieces of a policy, as a published simulator has them, that no engine preset needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from sim.job import JobView
from sim.plan import PlanBuilder, View
from sim.policies import DynamicOrdering, Ledger

__all__ = ["ChunkedAnyVictim", "KeptOrder", "LongestPrefixByBlocks"]

J = TypeVar("J", bound=JobView)

_SHARING_TOKENS, _MOST_QUEUE = 32, 128


@dataclass(frozen=True, slots=True)
class ChunkedAnyVictim:
    """As `Chunked`, where a victim may stand before the job that asks: then the next job misses its turn.

    The running list is walked by index, and the index stays when the list gets shorter in front of it. A job
    that is its own victim does not end the walk.

    Examples
    --------
    >>> ChunkedAnyVictim().whole_prompts
    False
    """

    whole_prompts: ClassVar[bool] = False

    def fill(self, view: View, plan: PlanBuilder) -> None:
        """Running jobs, then prompts cut to what the budget leaves."""
        index = 0
        while index < len(running := view.running):
            job = running[index]
            if plan.run(job):
                index += 1
            elif job in view.running:
                break
        for job in view.waiting:
            if not plan.admit(job):
                break


@dataclass(frozen=True, slots=True)
class LongestPrefixByBlocks:
    """Longest cached prefix first; a cold job goes last if its first block stands in the queue already.

    As `sim.policies.LongestPrefix`, but sharing is looked for in as many whole blocks as hold 32 tokens.

    Examples
    --------
    >>> LongestPrefixByBlocks().open_ledger() is None
    True
    """

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """By tokens in the cache now; as they stood if the queue is long."""
        if not view.has_prefix_cache or len(waiting) > _MOST_QUEUE:
            yield from waiting
            return
        n_blocks = -(-_SHARING_TOKENS // view.block_tokens)
        seen: set[int] = set()
        rank: dict[int, tuple[bool, int]] = {}
        for job in waiting:
            cached, keys = view.cached_tokens(job), view.block_keys(job)
            is_twin = False
            if cached <= _SHARING_TOKENS and len(keys) >= n_blocks:
                is_twin = keys[n_blocks - 1] in seen
                seen.add(keys[n_blocks - 1])
            rank[job.position] = is_twin, -cached
        yield from sorted(waiting, key=lambda job: rank[job.position])

    def open_ledger(self) -> Ledger | None:
        """None: the memory is all it needs."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOrder:
    """An order that starts from that of the last pass, not from arrival; a preempted job joins at the back.

    It joins at the end of the step that preempted it, behind those that arrived meanwhile.

    Parameters
    ----------
    inner : DynamicOrdering, optional
        How the queue is sorted at every pass (default: not at all).

    Examples
    --------
    >>> KeptOrder().open_ledger().counters()
    {}
    """

    inner: DynamicOrdering | None = None

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """The jobs as they stood, sorted anew."""
        places: dict[int, int] = ledger.seated()
        line = sorted(waiting, key=lambda job: places[job.position])
        if self.inner is not None:
            line = list(self.inner.arrange(line, view, None))
            numbers = sorted(places[job.position] for job in line)
            places.update(zip((job.position for job in line), numbers, strict=True))
        yield from line

    def open_ledger(self) -> Ledger:
        """An empty line."""
        return _Line()


class _Line:
    """The place of each waiting job."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._back: list[int] = []  # preempted in the step that is about to end
        self._n = 0

    def seated(self) -> dict[int, int]:
        """The places, with those that were preempted in the last step behind all others."""
        for position in self._back:
            self._seat(position)
        self._back.clear()
        return self._places

    def _seat(self, position: int) -> None:
        self._n += 1
        self._places[position] = self._n

    def arrived(self, job: JobView) -> None:
        """It stands last."""
        self._seat(job.position)

    def returned(self, job: JobView) -> None:
        """It will stand last."""
        self._back.append(job.position)

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        """Its place is gone."""
        del self._places[job.position]

    def sampled(self, job: JobView) -> None:
        """Of no meaning here."""

    def counters(self) -> dict[int, float]:
        """None."""
        return {}
