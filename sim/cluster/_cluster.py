"""One run of replicas on one clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from qtheory.system.workload.request import Requests
from sim._client import Client
from sim.job import SAME_MOMENT_S, Job
from sim.kvcache import Contents
from sim.observe import Observer
from sim.routing import Load, Router

from ._records import cluster_records
from ._views import Door, Texts
from .change import Change
from .member import Member
from .records import ClusterRecords
from .server import Server, SteppedServer

__all__ = ["ClusterRun"]


class ClusterRun:
    """A run, to be started once; arguments as for `simulate_cluster`."""

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
    ) -> None:
        n = len(requests)
        self._requests, self._members = requests, members
        self._observers: list[Observer | None] = list(observers) or [None] * len(members)
        self._client = Client(requests, cap=client_cap, think_s=think_s)
        self._hears_ends = client_cap > 0 or requests.after is not None
        self._delay_s = load_delay_s
        self._reported_s = -math.inf
        self._changes = list(changes)
        self._texts = Texts(requests, contents, members[0].replica.block_tokens)
        self._all: list[tuple[int, Server]] = []  # each with the number of its replica
        self._place: list[int] = [-1] * len(members)  # among these, of what stands now; -1: nothing does
        self._takes = [False] * len(members)
        looks = [partial(self._look, index) for index in range(len(members))]
        self._door = Door(router.begin(np.random.default_rng(seed)), self._texts, looks)
        self._loads = [Load(total_blocks=member.replica.n_blocks) for member in members]
        self._held: list[tuple[int, Job | None]] = []  # at the router, as no replica takes them
        self._sent_s = np.full(n, math.nan)
        self._n_moves = np.zeros(n, dtype=np.int64)
        self._last = np.full(n, -1, dtype=np.int64)  # place of the server that had a request last
        first = {change.replica: change.kind for change in reversed(self._changes)}
        for index in range(len(members)):
            if first.get(index) != "start":
                self._start(index, 0.0)

    def run(self, until_s: float) -> ClusterRecords:
        """From arrival to arrival, and to every change and report in between."""
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
        for server in self._standing():
            server.finish(until_s)
        is_cut = math.isfinite(at_s) or any(server.is_cut for server in self._standing())
        return self._records(until_s if is_cut and math.isfinite(until_s) else None)

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
                self._loads[index] = server.load()
        self._door.see(self._loads)

    # ---- requests and changes

    def _send(self, position: int, job: Job | None, at_s: float) -> None:
        open_ones = [index for index, takes in enumerate(self._takes) if takes]
        if not open_ones:
            self._held.append((position, job))
            return
        if not self._delay_s:
            self._see()
        index = self._door.choose(position, open_ones)
        self._last[position] = self._place[index]
        self._all[self._place[index]][1].offer(position, at_s, job)

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
            member, observer = self._members[index], self._observers[index]
            self._place[index] = len(self._all)
            self._all.append((index, SteppedServer(self._requests, member, self._texts, observer)))
            self._loads[index] = Load(total_blocks=member.replica.n_blocks)
            self._door.see(self._loads)
        self._takes[index] = True

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
