"""What routers are shown: loads of replicas, and requests as chains of block keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from qtheory.system.workload.request import Requests
from sim._state import State
from sim.kvcache import Chains, Contents
from sim.routing import Asked, Load, Routing

from ._mailbox import Mailbox
from .member import Member

__all__ = ["Door", "SeenWorker", "Texts", "load_of"]


def load_of(state: State, mailbox: Mailbox, requests: Requests, *, n_coming: int = 0) -> Load:
    """The load of a replica now; what lies in the mailbox waits like everything else.

    Requests that are on their way to it, and hold blocks already, are ``n_coming``.
    """
    jobs = (*state.waiting, *state.running, *(job for job, _ in state.swapped))
    mail = [int(requests.prompt_tokens[position]) for position in mailbox] if not n_coming else []
    memory = state.memory
    head = next(iter(state.waiting), None)
    head_tokens = head.known_tokens if head is not None else next(iter(mail), 0)
    return Load(
        n_requests=len(jobs) + max(len(mailbox), n_coming),
        n_tokens=sum(job.known_tokens for job in jobs) + sum(mail),
        n_running=len(state.running),
        queued_tokens=sum(job.missing_tokens for job in jobs) + sum(mail),
        total_blocks=state.replica.n_blocks,
        used_blocks=state.replica.n_blocks - memory.n_free,
        waiting_blocks=memory.blocks_for(head_tokens),
        wanted_blocks=sum(map(memory.blocks_for, (*(job.known_tokens for job in state.waiting), *mail))),
    )


@dataclass(slots=True)
class SeenWorker:
    """A replica as it was seen last; ``look`` finds what its cache has of a prompt."""

    index: int
    look: Callable[[Asked], int]
    load: Load = field(default_factory=Load)

    def cached_tokens(self, asked: Asked) -> int:
        """Tokens of the prompt that it would reuse."""
        return self.look(asked)


@dataclass(slots=True)
class _Asked:
    prompt_tokens: int
    block_tokens: int
    find: Callable[[], Sequence[int]]
    _keys: Sequence[int] | None = None

    @property
    def keys(self) -> Sequence[int]:
        """Found at the first look: most routers never ask."""
        if self._keys is None:
            self._keys = self.find()
        return self._keys


class Texts:
    """What the requests say, as keys of blocks that are alike for all replicas.

    Parameters
    ----------
    requests : Requests
    contents : Contents
    block_tokens : int
        Of the keys that routers see.
    """

    def __init__(self, requests: Requests, contents: Contents, block_tokens: int) -> None:
        self._requests, self._contents, self._block_tokens = requests, contents, block_tokens
        self._chains: dict[int, Chains] = {}

    def _of_size(self, block_tokens: int) -> Chains:
        return self._chains.setdefault(block_tokens, Chains(block_tokens=block_tokens))

    def state(self, member: Member) -> State:
        """An empty replica."""
        chains = self._of_size(member.replica.block_tokens)
        return State(member.policy, member.replica, self._contents, chains)

    def asked(self, position: int) -> Asked:
        """A request, to be shown to a router."""
        find = partial(self.keys, position, self._block_tokens)
        return _Asked(int(self._requests.prompt_tokens[position]), self._block_tokens, find)

    def keys(self, position: int, block_tokens: int) -> list[int]:
        """Keys of the full blocks of a prompt."""
        text = self._contents.tokens(
            position, prompt_tokens=int(self._requests.prompt_tokens[position]), n_outputs=0
        )
        chains = self._of_size(block_tokens)
        return chains.extend([], text, salt=self._contents.salt(position))

    def cached_tokens(self, position: int, state: State) -> int:
        """Tokens of a prompt that a replica would reuse."""
        memory = state.memory
        if not memory.prefix_cache:
            return 0
        known = int(self._requests.prompt_tokens[position])
        return len(memory.lookup(self.keys(position, memory.block_tokens), known)) * memory.block_tokens


class Door:
    """A router in front of replicas; ``looks`` find what each has of the prompt of a request."""

    def __init__(self, routing: Routing, texts: Texts, looks: Sequence[Callable[[int], int]]) -> None:
        self._routing, self._texts = routing, texts
        self._position = 0
        self._workers = [SeenWorker(i, partial(self._look, look)) for i, look in enumerate(looks)]

    def _look(self, look: Callable[[int], int], asked: Asked) -> int:
        return look(self._position)

    def see(self, loads: Sequence[Load]) -> None:
        """The loads of all replicas, as reported."""
        for worker, load in zip(self._workers, loads, strict=True):
            worker.load = load

    def choose(self, position: int, open_ones: Sequence[int] | None = None) -> int:
        """Number of the replica that a request goes to, of all or of the ``open_ones``."""
        self._position = position
        workers = self._workers if open_ones is None else [self._workers[index] for index in open_ones]
        return workers[self._routing.choose(self._texts.asked(position), workers)].index

    def forget(self, index: int) -> None:
        """A replica lost its memory."""
        self._routing.forget(index)
