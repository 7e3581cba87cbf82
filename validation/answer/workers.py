"""Processes that simulate side by side; they end with the command, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from qtheory.basics import checks

__all__ = ["Workers", "n_cores"]

P = ParamSpec("P")
T = TypeVar("T")


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin() -> None:
    """In a new worker: leave Ctrl-C to the parent, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


class Workers(Executor):
    """An executor of ``jobs`` processes, started at the first task; a context manager.

    On Linux they are forked, so that nothing is imported again. An exception that leaves the block, Ctrl-C
    too, ends them at once.

    Parameters
    ----------
    jobs : int, optional
        Processes, >= 1 (default: the number of cores).

    Raises
    ------
    ConfigError
        If the number is below 1.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None:
            checks.integer(jobs=jobs)
        self.jobs = n_cores() if jobs is None else jobs
        self._pool: ProcessPoolExecutor | None = None
        self._mine: list[multiprocessing.process.BaseProcess] = []
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a task done; the first one starts the processes."""
        if self._pool is None:
            self._pool = self._start()
        return self._pool.submit(fn, *args, **kwargs)

    def _start(self) -> ProcessPoolExecutor:
        way = "fork" if sys.platform == "linux" else "spawn"
        pool = ProcessPoolExecutor(self.jobs, multiprocessing.get_context(way), initializer=_begin)
        others, threads = multiprocessing.active_children(), threading.enumerate()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until they can ignore it
        try:
            pool.submit(int).result()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        self._mine = [child for child in multiprocessing.active_children() if child not in others]
        self._threads = [each for each in threading.enumerate() if each not in threads and not each.daemon]
        return pool

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once their tasks are done."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        if kind is None:
            self.shutdown()
            return False
        # Tasks are cancelled before the processes end: the pool fails on cancelled tasks of a lost process.
        self.shutdown(wait=False, cancel_futures=True)
        for child in self._mine:
            child.terminate()
        for child in self._mine:
            child.join()
        for thread in self._threads:
            thread.join()
        return False
