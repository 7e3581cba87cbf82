"""A guard against starvation: who was overtaken too often is next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from qtheory.basics import checks
from sim.job import JobView, moment
from sim.plan import View

from .pieces import DynamicOrdering, Ledger

__all__ = ["Unskipped"]

J = TypeVar("J", bound=JobView)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unskipped:
    """Any order made at every pass, but a job overtaken ``max_skip`` times comes first, by arrival.

    A job is overtaken when another that arrived after it is admitted while it waits.

    Parameters
    ----------
    inner : DynamicOrdering
        Order of those who were overtaken less often.
    max_skip : int
        How often, >= 1.

    Raises
    ------
    ConfigError
        If ``max_skip`` is not a whole number above zero.

    Examples
    --------
    >>> from sim.policies import LongestPrefix
    >>> Unskipped(inner=LongestPrefix(), max_skip=8).max_skip
    8
    """

    inner: DynamicOrdering
    max_skip: int

    def __post_init__(self) -> None:
        checks.integer(max_skip=self.max_skip)

    def arrange(self, waiting: Sequence[J], view: View, ledger: Any) -> Iterator[J]:
        """Those overtaken too often in order of arrival, then the others in the inner order."""
        often = [ledger.n_skips(job) >= self.max_skip for job in waiting]
        yield from [job for job, is_first in zip(waiting, often, strict=True) if is_first]
        rest = [job for job, is_first in zip(waiting, often, strict=True) if not is_first]
        yield from self.inner.arrange(rest, view, ledger.inner)

    def open_ledger(self) -> Ledger:
        """Nobody was overtaken so far."""
        return _Skips(self.inner.open_ledger())


class _Skips:
    """Admissions of later ones, by waiting job; on top of what the inner order keeps."""

    def __init__(self, inner: Ledger | None) -> None:
        self.inner = inner
        self._waiting: dict[int, float] = {}  # position to arrival
        self._n_skips: dict[int, int] = {}

    def n_skips(self, job: JobView) -> int:
        """How often ``job`` was overtaken since it arrived."""
        return self._n_skips.get(job.position, 0)

    def arrived(self, job: JobView) -> None:
        """It waits."""
        self._waiting[job.position] = moment(job.arrival_s)
        if self.inner:
            self.inner.arrived(job)

    def returned(self, job: JobView) -> None:
        """It waits again, and keeps its count."""
        self._waiting[job.position] = moment(job.arrival_s)
        if self.inner:
            self.inner.returned(job)

    def left(self, job: JobView, *, is_admitted: bool) -> None:
        """Those who arrived before it were overtaken."""
        own = (self._waiting.pop(job.position), job.position)
        if is_admitted:
            for position, arrival_s in self._waiting.items():
                if (arrival_s, position) < own:
                    self._n_skips[position] = self._n_skips.get(position, 0) + 1
        if self.inner:
            self.inner.left(job, is_admitted=is_admitted)

    def sampled(self, job: JobView) -> None:
        """Of no meaning here."""
        if self.inner:
            self.inner.sampled(job)

    def counters(self) -> dict[int, float]:
        """Those of the inner order."""
        return self.inner.counters() if self.inner else {}
