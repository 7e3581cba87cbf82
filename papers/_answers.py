"""Means that the models of the notes always give."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from qtheory.basics.errors import ConvergenceError
from qtheory.queues.result import QueueResult, TimeLaw

__all__ = ["Queue", "given", "mean_response_s", "mean_wait_s", "p99_s"]


class Queue(Protocol):
    """A queueing model."""

    def solve(self) -> QueueResult:
        """Its steady state."""
        ...


def given(value: float | None) -> float:
    """The number, which must be there."""
    if value is None:
        raise ConvergenceError("the model gives no number here")
    return value


def mean_wait_s(queue: Queue) -> float:
    """Mean wait, seconds."""
    return given(queue.solve().mean_wait_s)


def mean_response_s(queue: Queue) -> float:
    """Mean response, seconds."""
    return given(queue.solve().mean_response_s)


def p99_s(law: TimeLaw | None) -> float:
    """99th percentile, seconds."""
    return given(None if law is None else float(np.asarray(law.ppf(0.99))))
