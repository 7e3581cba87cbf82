"""What makes a router: a plain value, and what it remembers while it is at work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .load import Asked, Worker

__all__ = ["BlindRouter", "Router", "Routing"]


class Routing(Protocol):
    """A router at work, with what it remembers."""

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        """Place in ``workers`` (at least one) of the replica that the request goes to."""
        ...

    def forget(self, index: int) -> None:
        """The replica of this number lost its memory."""
        ...


@runtime_checkable
class Router(Protocol):
    """A way to choose a replica, as a frozen value."""

    name: ClassVar[str]

    def begin(self, rng: np.random.Generator) -> Routing:
        """Begin with nothing remembered; ``rng`` serves those that draw."""
        ...


@runtime_checkable
class BlindRouter(Router, Protocol):
    """A router that looks at nothing: the stream of requests can be divided beforehand."""

    def divide(self, n_requests: int, n_workers: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The replica of each request, shape (n_requests,); as `Routing.choose` would do it one by one."""
        ...
