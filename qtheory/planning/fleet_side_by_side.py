"""Tasks in several processes, a few ahead of what is needed, in the order in which they were given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TypeVar

from qtheory.basics import checks

__all__ = ["SideBySide"]

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """An executor, and how many tasks it is given at a time.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Whose workers do the tasks; it is not shut down here.
    jobs : int
        Tasks under way at once, >= 1. One whose answer is not asked for in the end was done for nothing.

    Raises
    ------
    ConfigError
        If the number is below 1.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(SideBySide(executor=pool, jobs=2).all(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    executor: Executor
    jobs: int

    def __post_init__(self) -> None:
        checks.integer(jobs=self.jobs)

    def all(self, task: Callable[[T], U], given: Iterable[T]) -> Iterator[U]:
        """Answers in the order of what was given; no more are begun than a few ahead of the one asked for."""
        waiting: deque[Future[U]] = deque()
        try:
            for one in given:
                waiting.append(self.executor.submit(task, one))
                if len(waiting) >= self.jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also where nobody asks on
            for future in waiting:
                future.cancel()
