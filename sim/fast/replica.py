"""A replica of the fast engine behind a router: memory, tape and loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests
from sim.job import SAME_MOMENT_S
from sim.kvcache import Contents
from sim.policies import Policy
from sim.record import Records, Status
from sim.replica import Replica

from .cache import Cache
from .cached_loop import CachedTape
from .fill import chunked, fill_of
from .halves import RUN
from .job import FastJob
from .live import Clock
from .meter import Meter
from .paced import CountedCachedState, CountedState, Paced, PacedCachedLoop
from .paced_chunked import PacedChunkedLoop
from .post import JobMaker, Post
from .tape import Tape
from .tree import Node, nodes_of

__all__ = ["Common", "FastReplica"]


class Common:
    """What the replicas of a cluster share: requests as jobs, whom they begin like, clock, rows of records.

    Parameters
    ----------
    requests : Requests
    contents : Contents or None
        What the requests say; None if no two of them begin alike.
    meter : Meter, optional
        Where everything is written down instead of in records.
    """

    def __init__(self, requests: Requests, contents: Contents | None, meter: Meter | None = None) -> None:
        self.requests, self.clock = requests, Clock()
        self.jobs = JobMaker(requests)
        self.meter = meter
        self._whole = CachedTape(0 if meter is not None else len(requests))
        self._contents = contents
        self._nodes: dict[int, Sequence[Node | None]] = {}

    def tape(self, *, is_cached: bool) -> Tape | Meter:
        """Where another replica writes."""
        if self.meter is not None:
            return self.meter
        n = len(self.requests)
        return CachedTape(n, beside=self._whole) if is_cached else Tape(n, beside=self._whole)

    def nodes(self, block_tokens: int) -> Sequence[Node | None]:
        """The last node of each request, for blocks of a size."""
        if block_tokens not in self._nodes:
            found: Sequence[Node | None] = [None] * len(self.requests)
            if self._contents is not None:
                found = nodes_of(self._contents, self.requests, block_tokens)
            self._nodes[block_tokens] = found
        return self._nodes[block_tokens]


class FastReplica:
    """A `sim.cluster.Server`.

    Parameters
    ----------
    common : Common
    policy : Policy
    replica : Replica
    hears_ends : bool
        Whether somebody asks which requests have ended.

    Attributes
    ----------
    loop : Paced
    take : callable (FastJob, float) -> None
        A new request is sent here at a moment, which is now.
    is_cut : bool
        Whether work was left when the clock was stopped.
    """

    def __init__(self, common: Common, policy: Policy, replica: Replica, *, hears_ends: bool) -> None:
        fill = fill_of(policy)
        self._common, self._post, self.is_cut = common, Post(hears_ends=hears_ends), False
        self._returned: set[int] = set()
        self._has_failed = False
        self._own: dict[Node, Node] = {}
        self._nodes: Sequence[Node | None] = ()
        self._cache: Cache | None = None
        self._tape = common.tape(is_cached=replica.prefix_cache)
        self.loop: Paced
        if replica.prefix_cache:
            self._nodes = common.nodes(replica.block_tokens)
            cached = CountedCachedState(common.requests, policy, replica, self._post, self._tape)
            self.loop, self._cache = PacedCachedLoop(cached, fill, self._post, common.clock), cached.cache
        else:
            plain = CountedState(common.requests, policy, replica, self._post, self._tape)
            loop = PacedChunkedLoop if fill is chunked else Paced
            self.loop = loop(plain, fill, self._post, common.clock)
        self.take: Callable[[FastJob, float], None] = self._take_cached if self._nodes else self.loop.offer

    # ---- time

    @property
    def next_s(self) -> float:
        """Nothing changes by itself before this moment."""
        return self.loop.next_s

    def advance_to(self, at_s: float) -> None:
        """Steps that end by then, passes that start before."""
        self._common.clock.now_s = at_s
        if self.loop.next_s <= at_s + SAME_MOMENT_S:
            self.loop.advance(at_s - SAME_MOMENT_S, at_s + SAME_MOMENT_S)

    def settle(self, at_s: float) -> None:
        """Passes that start at this moment."""
        self.loop.settled_s = at_s + 2 * SAME_MOMENT_S
        if self.loop.next_s <= at_s + 2 * SAME_MOMENT_S:
            self.loop.advance(at_s + 2 * SAME_MOMENT_S, at_s + SAME_MOMENT_S)

    def finish(self, until_s: float) -> None:
        """To the end of all work, or until the clock is stopped."""
        self.is_cut = self.loop.finish(until_s)

    # ---- requests

    def offer(self, position: int, at_s: float, job: FastJob | None = None) -> None:
        """A request is sent here now; with a job, what is left of it after another replica failed."""
        if job is None:
            self.take(self._common.jobs.make(position, at_s), at_s)
            return
        self._returned.add(position)
        if self._nodes:
            n_cached = job.cached_tokens
            job.begin_like(self._node(position))
            job.cached_tokens = n_cached
        self.loop.offer(job, at_s)

    def _take_cached(self, job: FastJob, at_s: float) -> None:
        job.begin_like(self._node(job.position))
        self.loop.offer(job, at_s)

    def _node(self, position: int) -> Node | None:
        """This replica's copy of the last node that a request shares with others."""
        node, own = self._nodes[position], self._own
        if node is None:
            return None
        if node not in own:
            before: tuple[Node, ...] = ()
            for part in node.path:
                if part not in own:
                    own[part] = Node(before, part.start, part.end)
                before = own[part].path
        return own[node]

    def ended(self) -> list[tuple[float, int]]:
        """Moment and row of each request that ended since the last call."""
        ended, self._post.ended = self._post.ended, []
        return ended

    def abandon(self, at_s: float) -> list[tuple[int, FastJob | None]]:
        """The replica fails now: the requests that were in it, running ones first."""
        jobs, returned = self.loop.abandon(at_s), self._returned
        for job in jobs:
            self._tape.close(job, Status.UNFINISHED, at_s)
        mail = [(job.position, job if job.position in returned else None) for _, job in self._post.jobs]
        self._post.jobs.clear()
        self._has_failed = True
        return [*((job.position, job) for job in jobs), *mail]

    # ---- what is seen

    def load(self) -> Paced:
        """The load at any time."""
        return self.loop

    def cached_tokens(self, position: int) -> int:
        """Tokens of the prompt of a request that would be reused now."""
        if self._cache is None or self._nodes[position] is None:
            return 0
        state, load = self.loop.state, self.loop
        self._cache.settle(load.total_blocks - load.used_blocks)
        if state.policy.cache_commit == "schedule":
            self._cache.ahead = load.planned_steps()
        elif self.loop.phase == RUN:
            self._cache.ahead = load.done_steps()[0]
        job = self._common.jobs.make(position, 0.0)
        job.begin_like(self._node(position))
        n_blocks = self._cache.match(job)[1]
        self._cache.ahead = 0
        return n_blocks * state.block_tokens

    def leave(self) -> float:
        """Those inside have come so far; the clock."""
        if not self._has_failed:
            self.loop.state.leave()
        return self.loop.state.now_s

    def close(self) -> Records:
        """What was seen; rows of requests that were never here are those of others."""
        state = self.loop.state
        self.leave()
        if not isinstance(self._tape, Tape):
            raise ConfigError("records: nothing is kept of requests and steps but sums")
        return self._tape.records(self._common.requests, n_blocks=state.replica.n_blocks, end_s=state.now_s)
