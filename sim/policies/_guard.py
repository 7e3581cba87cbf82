"""Calls into a person's own code: what it raises, and how long it may take."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from qtheory.basics.errors import PlanError, ServingError

__all__ = ["MOST_CPU_S", "Guard"]

P = ParamSpec("P")
T = TypeVar("T")

MOST_CPU_S = 10.0
"""CPU seconds of one call at most; the longest real ones take milliseconds."""

_AGAIN_S = 0.1  # until the next signal, in case the first was caught


class _TooLong(BaseException):
    """Past ``except Exception``, as an endless loop may hold one."""


class Guard:
    """Runs the code of one policy; an error of any kind becomes one line with the policy, the job, the limit.

    Time is watched in the main thread alone, where signals are.

    Parameters
    ----------
    policy : str
        Name for messages.
    file : str
        Where its code stands, for the number of the line.
    most_cpu_s : float
        CPU seconds of a call at most, > 0.
    """

    def __init__(self, policy: str, file: str = "", most_cpu_s: float = MOST_CPU_S) -> None:
        self.policy, self.file, self._most_cpu_s = policy, file, most_cpu_s
        self.at = ""  # the request that is looked at, in words
        self.counts = False  # whether steps of decodes alone are counted, in
        self.n_looked = 0  # running jobs that were looked at one by one,
        self.n_there = 0  # and running jobs
        self._depth = 0

    def error(self, what: str) -> PlanError:
        """An error that names the policy."""
        return PlanError(f"policy {self.policy!r}: {what}")

    def call(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns; ``name`` is what its author calls it."""
        if self._depth:
            return self._call(name, function, *args, **kwargs)
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return self._call(name, function, *args, **kwargs)
        before = signal.signal(signal.SIGVTALRM, _stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._most_cpu_s, _AGAIN_S)
        try:
            return self._call(name, function, *args, **kwargs)
        except _TooLong:
            self._depth = 0
            raise self.error(
                f"{name}{self.at} takes longer than {self._most_cpu_s:g} s of CPU time; does it loop?"
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def _call(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._depth += 1
        try:
            return function(*args, **kwargs)
        except ServingError:
            raise
        except (Exception, SystemExit) as error:
            said = " ".join(str(error).split())
            about = f"{type(error).__name__}: {said}" if said else type(error).__name__
            raise self.error(f"{name}{self.at} raised {about}{self._line(error)}") from None
        finally:
            self._depth -= 1

    def each(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """The items, each one taken as a call."""
        stop: Any = object()
        iterator = self.call(name, iter, items)
        while (item := self.call(name, next, iterator, stop)) is not stop:
            yield item

    def _line(self, error: BaseException) -> str:
        """Where in its own file it happened, if that is known."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if self.file and frame.filename == self.file]
        return f" (line {lines[-1]})" if lines else ""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _TooLong
