"""What a router may know: the load of each replica, and the request that is to be sent somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["AnyLoad", "Asked", "Load", "Worker"]


class AnyLoad(Protocol):
    """What a router may read of a load, as of `Load`: one that was reported, or one found as it is read."""

    @property
    def n_requests(self) -> int:
        """Requests in flight."""
        ...

    @property
    def n_tokens(self) -> int:
        """Their known tokens."""
        ...

    @property
    def n_running(self) -> int:
        """Those that hold blocks."""
        ...

    @property
    def queued_tokens(self) -> int:
        """Tokens that are known and not computed."""
        ...

    @property
    def total_blocks(self) -> int:
        """Blocks of KV memory."""
        ...

    @property
    def used_blocks(self) -> int:
        """Blocks in use."""
        ...

    @property
    def least_blocks(self) -> int:
        """At least so many are in use, known without a look at the steps under way."""
        ...

    @property
    def waiting_blocks(self) -> int:
        """Blocks that the first waiting request needs."""
        ...

    @property
    def wanted_blocks(self) -> int:
        """Blocks that all waiting requests need."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load of a replica as it was reported last.

    Parameters
    ----------
    n_requests : int
        Requests in flight: waiting, running, on the host.
    n_tokens : int
        Their known tokens: prompts and outputs so far.
    n_running : int
        Those that hold blocks.
    queued_tokens : int
        Tokens that are known and not computed.
    total_blocks, used_blocks : int
        Blocks of KV memory, and those in use.
    waiting_blocks : int
        Blocks that the first waiting request needs; 0 if none waits.
    wanted_blocks : int
        Blocks that all waiting requests need.

    Examples
    --------
    >>> Load(n_requests=3).used_blocks
    0
    """

    n_requests: int = 0
    n_tokens: int = 0
    n_running: int = 0
    queued_tokens: int = 0
    total_blocks: int = 0
    used_blocks: int = 0
    waiting_blocks: int = 0
    wanted_blocks: int = 0

    @property
    def least_blocks(self) -> int:
        """Blocks in use: nothing has changed since."""
        return self.used_blocks


class Asked(Protocol):
    """The request that is to be sent somewhere."""

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        ...

    @property
    def block_tokens(self) -> int:
        """Tokens of a block, for `keys`."""
        ...

    @property
    def keys(self) -> Sequence[int]:
        """Keys of the full blocks of the prompt; equal keys mean equal prefixes."""
        ...

    @property
    def shared_keys(self) -> Sequence[int]:
        """The first of these keys, without the last ones that no other request has."""
        ...

    @property
    def may_be_cached(self) -> bool:
        """Whether a replica may have a block of the prompt."""
        ...


class Worker(Protocol):
    """A replica that takes requests, as a router sees it."""

    @property
    def index(self) -> int:
        """Its number, from 0; the same as long as the cluster stands."""
        ...

    @property
    def load(self) -> AnyLoad:
        """As it was reported last."""
        ...

    def cached_tokens(self, asked: Asked) -> int:
        """Tokens of the prompt that it would reuse, as its own cache says."""
        ...
