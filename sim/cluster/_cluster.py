"""One run of replicas on one clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from qtheory.system.workload.request import Requests
from sim._client import Client
from sim.fast.garbage import no_garbage
from sim.fast.replica import Common, FastReplica
from sim.job import SAME_MOMENT_S
from sim.kvcache import Contents
from sim.observe import Observer
from sim.routing import AnyLoad, Load, Router

from ._records import cluster_records
from ._views import Door, SharedTexts, Texts, reported
from .change import Change
from .member import Member
from .records import ClusterRecords
from .server import Server, SteppedServer

__all__ = ["ClusterRun"]


class ClusterRun:
    """A run, to be started once; arguments as for `simulate_cluster`.

    With what replicas of the fast engine have in common they are such, else those of the reference engine.
    """

    def __init__(
        self,
        requests: Requests,
        members: Sequence[Member],
        router: Router,
        *,
        contents: Contents,
        client_cap: int,
        think_s: float,
        load_delay_s: float,
        changes: Sequence[Change],
        seed: int,
        observers: Sequence[Observer],
        common: Common | None,
    ) -> None:
        n = len(requests)
        self._common = common
        self._requests, self._members = requests, members
        self._observers: list[Observer | None] = list(observers) or [None] * len(members)
        self._client = Client(requests, cap=client_cap, think_s=think_s)
        self._hears_ends = client_cap > 0 or requests.after is not None
        self._delay_s = load_delay_s
        self._reported_s = -math.inf
        self._changes = list(changes)
        self._texts = _texts(requests, members, contents, common)
        self._all: list[tuple[int, Server]] = []  # each with the number of its replica
        self._place: list[int] = [-1] * len(members)  # among these, of what stands now; -1: nothing does
        self._takes = [False] * len(members)
        self._door = Door(router.begin(np.random.default_rng(seed)), self._texts, self._looks())
        self._loads: list[AnyLoad] = [Load(total_blocks=member.replica.n_blocks) for member in members]
        self._held: list[tuple[int, Any]] = []  # at the router, as no replica takes them
        self._sent_s = np.full(n, math.nan)
        self._n_moves = np.zeros(n, dtype=np.int64)
        self._last = np.full(n, -1, dtype=np.int64)  # place of the server that had a request last
        first = {change.replica: change.kind for change in reversed(self._changes)}
        for index in range(len(members)):
            if first.get(index) != "start":
                self._start(index, 0.0)

    def _looks(self) -> list[Callable[[int], int] | None]:
        """What tells a router of the cache of each replica that has one."""
        return [
            partial(self._look, index) if member.replica.prefix_cache else None
            for index, member in enumerate(self._members)
        ]

    def run(self, until_s: float) -> ClusterRecords:
        """To the end of all work, or until the clock is stopped."""
        return self._records(self._run(until_s))

    def measure(self, until_s: float) -> float:
        """The same, if replicas share a meter; the clock at the end."""
        end_s = self._run(until_s)
        ends_s = [server.leave() for _, server in self._all if isinstance(server, FastReplica)]
        last_s = np.max(self._sent_s, initial=0.0, where=~np.isnan(self._sent_s))
        return max(*ends_s, float(last_s)) if end_s is None else end_s

    def _run(self, until_s: float) -> float | None:
        """Serve; the moment at which the clock was stopped before all was done, if it was."""
        if self._common is None or self._hears_ends or self._changes or self._delay_s:
            at_s = self._serve(until_s)
        else:
            with no_garbage():
                at_s = self._serve_arrivals(self._common, until_s)
        for server in self._standing():
            server.finish(until_s)
        is_cut = math.isfinite(at_s) or any(server.is_cut for server in self._standing())
        return until_s if is_cut and math.isfinite(until_s) else None

    def _serve(self, until_s: float) -> float:
        """From arrival to arrival, and to every change and report in between; when the next one would be."""
        while (at_s := self._next_s()) < until_s:
            self._report(at_s)
            self._advance(at_s)
            while self._changes and self._changes[0].at_s <= at_s + SAME_MOMENT_S:
                self._change(self._changes.pop(0))
            for position, sent_s in self._client.take(at_s):
                self._sent_s[position] = sent_s
                self._send(position, None, sent_s)
            for server in self._standing():
                server.settle(at_s)
                self._hear(server)  # a pass may turn requests away
        return at_s

    def _serve_arrivals(self, common: Common, until_s: float) -> float:
        """The same on the fast engine, if nothing happens but arrivals: replicas settle when time goes on."""
        servers = [server for _, server in self._all if isinstance(server, FastReplica)]
        loops, takes = [server.loop for server in servers], [server.take for server in servers]
        clock, choose = common.clock, self._door.choose
        self._see()
        last: list[int] = []
        at_s = by_s = -math.inf
        next_s = math.inf
        for job in common.jobs.in_order():
            sent_s = job.arrival_s
            if sent_s > by_s:
                if sent_s >= until_s:
                    next_s = sent_s
                    break
                clock.before_s = max(at_s + 2 * SAME_MOMENT_S, sent_s - SAME_MOMENT_S)
                clock.now_s = at_s = sent_s
                clock.by_s = by_s = at_s + SAME_MOMENT_S
                for loop in loops:
                    if loop.next_s <= by_s:
                        loop.go_on()
            index = choose(job.position)
            last.append(index)
            takes[index](job, sent_s)
        if last:
            for server in servers:
                server.settle(at_s)
        self._last[: len(last)] = last
        self._sent_s[: len(last)] = self._requests.arrival_s[: len(last)]
        return next_s

    def _next_s(self) -> float:
        """The next moment at which something comes from outside; an end may bring a request."""
        next_s = min(self._client.next_s, self._changes[0].at_s if self._changes else math.inf)
        if self._hears_ends:
            next_s = min(next_s, *(server.next_s for server in self._standing()), math.inf)
        return next_s

    def _standing(self) -> list[Server]:
        return [self._all[place][1] for place in self._place if place >= 0]

    def _server(self, index: int) -> Server | None:
        place = self._place[index]
        return self._all[place][1] if place >= 0 else None

    def _look(self, index: int, position: int) -> int:
        server = self._server(index)
        return server.cached_tokens(position) if server is not None else 0

    def _advance(self, at_s: float) -> None:
        for server in self._standing():
            server.advance_to(at_s)
            self._hear(server)

    def _hear(self, server: Server) -> None:
        """Ends of requests let the client send others."""
        for end_s, position in server.ended():
            self._client.place_free(end_s, position)

    # ---- loads

    def _report(self, at_s: float) -> None:
        """The last report of the loads before a moment, if it is not known yet."""
        if not self._delay_s:
            return
        report_s = math.floor((at_s + SAME_MOMENT_S) / self._delay_s) * self._delay_s
        if report_s > self._reported_s:
            self._advance(report_s)
            self._reported_s = report_s
            self._see()

    def _see(self) -> None:
        for index in range(len(self._members)):
            server = self._server(index)
            if server is not None:
                load = server.load()
                self._loads[index] = reported(load) if self._delay_s else load
        self._door.see(self._loads)

    # ---- requests and changes

    def _send(self, position: int, job: Any, at_s: float) -> None:
        open_ones = [index for index, takes in enumerate(self._takes) if takes]
        if not open_ones:
            self._held.append((position, job))
            return
        if not self._delay_s:
            self._see()
        index = self._door.choose_among(position, open_ones)
        self._last[position] = self._place[index]
        server = self._all[self._place[index]][1]
        server.offer(position, at_s, job)
        self._hear(server)  # it may be turned away

    def _change(self, change: Change) -> None:
        index, server = change.replica, self._server(change.replica)
        if change.kind == "start":
            self._start(index, change.at_s)
            held, self._held = self._held, []
            for position, job in held:
                self._send(position, job, change.at_s)
            return
        self._takes[index] = False
        if change.kind == "fail" and server is not None:
            self._place[index] = -1
            self._door.forget(index)
            for position, job in server.abandon(change.at_s):
                self._n_moves[position] += 1
                self._send(position, job, change.at_s)

    def _start(self, index: int, at_s: float) -> None:
        """A replica takes requests; with empty memory unless it stands since it was drained."""
        if self._place[index] < 0:
            self._place[index] = len(self._all)
            self._all.append((index, self._new(index)))
            self._loads[index] = Load(total_blocks=self._members[index].replica.n_blocks)
            self._door.see(self._loads)
        self._takes[index] = True

    def _new(self, index: int) -> Server:
        """A replica with empty memory."""
        member = self._members[index]
        if self._common is not None:
            return FastReplica(self._common, *member, hears_ends=self._hears_ends)
        return SteppedServer(self._requests, member, self._texts, self._observers[index])

    def _records(self, end_s: float | None) -> ClusterRecords:
        return cluster_records(
            self._requests,
            [server.close() for _, server in self._all],
            [np.flatnonzero(self._last == place) for place in range(len(self._all))],
            sent_s=self._sent_s,
            part_replica=[index for index, _ in self._all],
            n_replicas=len(self._members),
            n_moves=self._n_moves,
            end_s=end_s,
        )


def _texts(
    requests: Requests, members: Sequence[Member], contents: Contents, common: Common | None
) -> Texts | SharedTexts:
    """What prompts say, for routers and for the replicas of an engine."""
    size = members[0].replica.block_tokens
    return (
        Texts(requests, contents, size) if common is None else SharedTexts(requests, contents, common, size)
    )
