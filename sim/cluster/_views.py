"""What routers are shown: loads of replicas, and requests as chains of block keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from qtheory.system.workload.request import Requests
from sim._state import State
from sim.fast.replica import Common
from sim.fast.tree import Node
from sim.job import Job
from sim.kvcache import Chains, Contents
from sim.routing import AnyLoad, Asked, Load, Routing

from ._mailbox import Mailbox
from .member import Member

_PER_RUN = 2**32  # more than any request has blocks

__all__ = ["Door", "SeenWorker", "SharedTexts", "Texts", "load_of", "reported"]


def load_of(
    state: State,
    mailbox: Mailbox,
    requests: Requests,
    *,
    n_coming: int = 0,
    returned: Mapping[int, Job] | None = None,
) -> Load:
    """The load of a replica now; what lies in the mailbox waits like everything else.

    Requests that are on their way to it, and hold blocks already, are ``n_coming``; jobs that come from a
    replica that failed, ``returned``, bring the outputs that they have.
    """
    known = returned or {}
    jobs = (*state.waiting, *state.running, *(job for job, _ in state.swapped))
    mail = [
        known[position].known_tokens if position in known else int(requests.prompt_tokens[position])
        for position in mailbox
        if not n_coming
    ]
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


def reported(load: AnyLoad) -> Load:
    """A load as it is now, whatever comes."""
    return Load(**{item.name: getattr(load, item.name) for item in fields(Load)})


class _Asked:
    """The request that is asked for; its keys are found at the first look, as most routers never ask."""

    __slots__ = ("_has_cache", "_keys", "_texts", "block_tokens", "position", "prompt_tokens")

    def __init__(self, texts: Texts, *, has_cache: bool) -> None:
        self._texts, self.block_tokens, self._has_cache = texts, texts.block_tokens, has_cache
        self.position, self.prompt_tokens = -1, 0
        self._keys: Sequence[int] | None = None

    def turn_to(self, position: int, prompt_tokens: int) -> None:
        """From now on it is another one."""
        self.position, self.prompt_tokens, self._keys = position, prompt_tokens, None

    @property
    def keys(self) -> Sequence[int]:
        """Of the full blocks of the prompt."""
        if self._keys is None:
            self._keys = self._texts.keys(self.position, self.block_tokens)
        return self._keys

    @property
    def shared_keys(self) -> Sequence[int]:
        """The first of them, as far as others may have them."""
        return self._texts.shared_keys(self.position, self.block_tokens)

    @property
    def may_be_cached(self) -> bool:
        """Whether a replica may have a block of the prompt."""
        return self._has_cache and bool(self.shared_keys)


@dataclass(slots=True)
class SeenWorker:
    """A replica as it was seen last; ``look`` finds what its cache, if it has one, has of a request."""

    index: int
    look: Callable[[int], int] | None
    asked: _Asked
    load: AnyLoad = field(default_factory=Load)

    def cached_tokens(self, asked: Asked) -> int:
        """Tokens of the prompt that it would reuse."""
        return 0 if self.look is None else self.look(self.asked.position)


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
        self._contents, self.block_tokens = contents, block_tokens
        self.prompt_tokens: list[int] = requests.prompt_tokens.tolist()
        self._chains: dict[int, Chains] = {}

    def _of_size(self, block_tokens: int) -> Chains:
        return self._chains.setdefault(block_tokens, Chains(block_tokens=block_tokens))

    def state(self, member: Member) -> State:
        """An empty replica."""
        chains = self._of_size(member.replica.block_tokens)
        return State(member.policy, member.replica, self._contents, chains)

    def keys(self, position: int, block_tokens: int) -> Sequence[int]:
        """Keys of the full blocks of a prompt."""
        text = self._contents.tokens(position, prompt_tokens=self.prompt_tokens[position], n_outputs=0)
        chains = self._of_size(block_tokens)
        return chains.extend([], text, salt=self._contents.salt(position))

    def shared_keys(self, position: int, block_tokens: int) -> Sequence[int]:
        """The first of them, as far as others may have them."""
        return self.keys(position, block_tokens)

    def cached_tokens(self, position: int, state: State) -> int:
        """Tokens of a prompt that a replica would reuse."""
        memory = state.memory
        if not memory.prefix_cache:
            return 0
        keys = self.keys(position, memory.block_tokens)
        return len(memory.lookup(keys, self.prompt_tokens[position])) * memory.block_tokens


class SharedTexts(Texts):
    """The same, from what is known beforehand of texts that begin alike.

    Parameters
    ----------
    requests : Requests
    contents : Contents
    common : Common
        Of replicas of the fast engine.
    block_tokens : int
        Of the keys that routers see.
    """

    def __init__(self, requests: Requests, contents: Contents, common: Common, block_tokens: int) -> None:
        super().__init__(requests, contents, block_tokens)
        self._common = common
        self._numbers: dict[Node, int] = {}

    def shared_keys(self, position: int, block_tokens: int) -> Sequence[int]:
        """Number of a run of blocks that several requests have, and of the block."""
        node = self._common.nodes(block_tokens)[position]
        if node is None:
            return ()
        numbers, keys = self._numbers, list[int]()
        for part in node.path:
            first = numbers.setdefault(part, len(numbers)) * _PER_RUN
            keys += range(first + part.start, first + part.end)
        return keys[: self.prompt_tokens[position] // block_tokens]

    def keys(self, position: int, block_tokens: int) -> Sequence[int]:
        """Those that others may have, and behind them numbers that nobody else has."""
        keys = list(self.shared_keys(position, block_tokens))
        last = -position * _PER_RUN
        return keys + list(
            range(last - len(keys) - 1, last - self.prompt_tokens[position] // block_tokens - 1, -1)
        )


class Door:
    """A router in front of replicas; ``looks`` find what each has of a prompt, if it can have any."""

    def __init__(self, routing: Routing, texts: Texts, looks: Sequence[Callable[[int], int] | None]) -> None:
        self._routing, self._prompt_tokens = routing, texts.prompt_tokens
        self._asked = _Asked(texts, has_cache=any(look is not None for look in looks))
        self._workers = [SeenWorker(index, look, self._asked) for index, look in enumerate(looks)]

    def see(self, loads: Sequence[AnyLoad]) -> None:
        """The loads of all replicas, as reported, or as they are at any time."""
        for worker, load in zip(self._workers, loads, strict=True):
            worker.load = load

    def choose(self, position: int) -> int:
        """Number of the replica that a request goes to."""
        self._asked.turn_to(position, self._prompt_tokens[position])
        return self._routing.choose(self._asked, self._workers)

    def choose_among(self, position: int, open_ones: Sequence[int]) -> int:
        """The same, of the ``open_ones`` alone."""
        self._asked.turn_to(position, self._prompt_tokens[position])
        workers = [self._workers[index] for index in open_ones]
        return workers[self._routing.choose(self._asked, workers)].index

    def forget(self, index: int) -> None:
        """A replica lost its memory."""
        self._routing.forget(index)
