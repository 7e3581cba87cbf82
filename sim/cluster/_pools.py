"""One run of prefill and decode pools: the clock, and what happens at each moment of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim._client import Client
from sim._state import State
from sim._stepper import Stepper
from sim._unfit import why_unfit
from sim.job import SAME_MOMENT_S, Job
from sim.kvcache import Contents
from sim.observe import Observer
from sim.record import Records, Status
from sim.routing import Routing

from ._decode import DecodeServer
from ._merge import merge_gaps, merge_steps
from ._prefill import PrefillServer
from ._transfers import Transfer, Transfers
from ._views import Door, Texts, load_of

if TYPE_CHECKING:
    from .pools import Pools

__all__ = ["PoolRun"]

_ENDS = {
    "finished": Status.FINISHED,
    "shed": Status.SHED,
    "reject": Status.REJECTED,
    "abort": Status.ABORTED,
}


class PoolRun:
    """A run, to be started once."""

    def __init__(
        self,
        requests: Requests,
        pools: Pools,
        contents: Contents,
        *,
        client_cap: int,
        think_s: float,
        seed: int,
        observers: Sequence[Observer],
    ) -> None:
        n, x = len(requests), len(pools.prefill)
        told: list[Observer | None] = list(observers) or [None] * (x + len(pools.decode))
        self._requests, self._pools = requests, pools
        self._recomputes = pools.first_token == "decode_recompute"
        self._client = Client(requests, cap=client_cap, think_s=think_s)
        texts = Texts(requests, contents, pools.prefill[0].replica.block_tokens)
        self._prefill = [
            PrefillServer(requests, member, texts, seen)
            for member, seen in zip(pools.prefill, told[:x], strict=True)
        ]
        self._decode = [
            DecodeServer(requests, member, texts, seen)
            for member, seen in zip(pools.decode, told[x:], strict=True)
        ]
        first, second = np.random.default_rng(seed).spawn(2)
        self._to_prefill = _door(pools.prefill_router.begin(first), texts, self._prefill)
        self._to_decode = _door(pools.decode_router.begin(second), texts, self._decode)
        self._transfers = Transfers(pools.link)
        self._early: dict[int, Transfer] = {}  # of prompts that are still computed
        self._jobs: dict[int, Job] = {}
        self._times = {
            name: np.full(n, math.nan)
            for name in ("prefill_start_s", "prefill_end_s", "transfer_start_s", "transfer_end_s")
        }
        self._sent_s, self._first_token_s, self._finish_s = np.full((3, n), math.nan)
        self._status = np.full(n, int(Status.UNFINISHED), dtype=np.int64)
        self._instance = {name: np.full(n, -1, dtype=np.int64) for name in ("prefill", "decode")}
        self._now_s = 0.0

    @property
    def _servers(self) -> list[PrefillServer | DecodeServer]:
        return [*self._prefill, *self._decode]

    def run(self, until_s: float) -> None:
        """From moment to moment."""
        while True:
            at_s = min(server.next_s for server in self._servers)
            at_s = min(at_s, self._client.next_s, self._transfers.next_s)
            if math.isinf(at_s) or at_s > until_s:
                break
            self._now_s = max(self._now_s, at_s)
            self._end_all(at_s + SAME_MOMENT_S)
            self._take_arrivals(at_s)
            self._begin_transfers(at_s)
            after_s = max(at_s + 2 * SAME_MOMENT_S, math.nextafter(at_s, math.inf))  # of late clocks
            for server in self._servers:
                server.advance(before_s=after_s, by_s=at_s + SAME_MOMENT_S)
            self._collect()
            if self._pools.link.n_layers > 1:
                self._reserve_early(at_s)
        if not math.isinf(at_s):
            self._now_s = until_s
        for server in self._servers:
            server.mailbox.is_open = False
            if math.isinf(at_s):
                server.check_stuck()
            server.stop(self._now_s)

    # ---- ends

    def _end_all(self, by_s: float) -> None:
        for server in self._prefill:
            server.end_step(by_s)
        ready = [(end_s, i, job) for i, server in enumerate(self._prefill) for job, end_s in server.done]
        for end_s, source, job in sorted(ready, key=lambda row: row[:2]):
            self._prefilled(job, source, end_s)
        for server in self._prefill:
            server.done.clear()
        for one in self._transfers.end(by_s):
            self._sent(one)
        for decode in self._decode:
            decode.end_step(by_s)
        self._collect()

    def _collect(self) -> None:
        """Jobs that ended at an instance, whichever way."""
        for server in self._servers:
            for job, at_s, how in server.gone:
                self._finish(job.position, at_s, _ENDS[how])
            server.gone.clear()

    def _prefilled(self, job: Job, source: int, end_s: float) -> None:
        row = job.position
        self._times["prefill_start_s"][row] = job.first_scheduled_s
        self._times["prefill_end_s"][row] = end_s
        if self._requests.output_tokens[row] == 1 and not self._recomputes:
            self._finish(row, end_s, Status.FINISHED)
            self._first_token_s[row] = end_s
            self._prefill[source].release(row, end_s)
            return
        one = self._early.pop(row, None) or self._transfer(job, source)
        if one.n_tokens >= 0:
            self._transfers.hide(one, one.start_s, end_s)
        if not self._recomputes:
            one.job.first_token_s = one.job.last_token_s = end_s
        if self._pools.first_token == "prefill_end":
            self._first_token_s[row] = end_s
        self._jobs[row] = one.job
        self._transfers.waiting.append(one)

    def _transfer(self, job: Job, source: int) -> Transfer:
        """The way of a prompt to a decode instance, for which it becomes a new job."""
        self._to_decode.see(self._decode_loads())
        target = self._to_decode.choose(job.position)
        moved = Job.of(self._requests.row(job.position), job.arrival_s)
        moved.cached_tokens = job.cached_tokens
        moved.first_scheduled_s = job.first_scheduled_s
        moved.is_prefilling = False
        moved.computed_tokens = job.prompt_tokens - int(self._recomputes)
        moved.expected_tokens = -moved.computed_tokens
        if not self._recomputes:
            moved.known_tokens += 1
        return Transfer(moved, source, target)

    def _sent(self, one: Transfer) -> None:
        row = one.job.position
        self._times["transfer_start_s"][row], self._times["transfer_end_s"][row] = one.start_s, one.end_s
        self._prefill[one.source].release(row, one.end_s)
        self._decode[one.target].land(row, one.end_s)
        if self._pools.first_token == "transfer_end":
            one.job.first_token_s = one.job.last_token_s = self._first_token_s[row] = one.end_s

    def _finish(self, row: int, at_s: float, how: Status) -> None:
        self._finish_s[row], self._status[row] = at_s, int(how)
        self._client.place_free(at_s, row)

    # ---- arrivals

    def _take_arrivals(self, at_s: float) -> None:
        for row, sent_s in self._client.take(at_s):
            self._sent_s[row] = sent_s
            loads = [load_of(server.state, server.mailbox, self._requests) for server in self._prefill]
            self._to_prefill.see(loads)
            source = self._to_prefill.choose(row)
            if self._is_unfit(row, source, sent_s):
                self._finish(row, sent_s, Status.REJECTED)
                continue
            self._instance["prefill"][row] = source
            self._prefill[source].mailbox.offer(row, sent_s)

    def _is_unfit(self, row: int, source: int, sent_s: float) -> bool:
        """What can never run on one of the two sides is turned away."""
        job = Job.of(self._requests.row(row), sent_s)
        most = max(job.max_output_tokens, int(self._requests.output_tokens[row]))
        stays = most == 1 and not self._recomputes
        decodes = () if stays else self._pools.decode
        alone = Job.of(self._prefill[source].requests.row(row), sent_s)
        return bool(why_unfit(alone, *self._pools.prefill[source])) or any(
            why_unfit(job, *member) for member in decodes
        )

    # ---- begins

    def _decode_loads(self) -> list[Any]:
        return [
            load_of(
                server.state,
                server.mailbox,
                self._requests,
                n_coming=server.n_coming + self._transfers.n_waiting_for(target),
            )
            for target, server in enumerate(self._decode)
        ]

    def _begin_transfers(self, at_s: float) -> None:
        full: set[int] = set()  # decode instances at which somebody waits for room
        for one in list(self._transfers.waiting):
            if one.target in full or not self._transfers.is_free(one):
                continue
            if one.n_tokens < 0 and not self._reserve(one):
                full.add(one.target)
                continue
            self._transfers.begin(one, at_s)

    def _reserve(self, one: Transfer) -> bool:
        n_tokens = self._decode[one.target].reserve(one.job)
        if n_tokens is None:
            return False
        one.n_tokens = n_tokens
        self._instance["decode"][one.job.position] = one.target
        return True

    def _reserve_early(self, at_s: float) -> None:
        """Layer by layer: what is about to be complete takes its blocks now, if nobody waits for them."""
        for source, server in enumerate(self._prefill):
            for job in server.completing(at_s):
                row = job.position
                if self._requests.output_tokens[row] == 1 and not self._recomputes:
                    continue
                one = self._early[row] = self._transfer(job, source)
                if not self._transfers.n_waiting_for(one.target) and self._reserve(one):
                    one.start_s = at_s
                    self._transfers.mark(one, at_s)

    # ---- the end

    def result(self) -> dict[str, Any]:
        """The fields of `PoolRecords`."""
        parts = [server.close() for server in self._servers]
        if self._recomputes:
            for part in parts[len(self._prefill) :]:
                np.copyto(self._first_token_s, part.first_token_s, where=~np.isnan(part.first_token_s))
        prefills = parts[: len(self._prefill)]
        jobs = self._jobs
        rows = range(len(self._requests))

        def of_prefill(name: str) -> NDArray[Any]:
            columns = np.stack([getattr(part, name) for part in prefills])  # (x, n)
            return np.asarray(columns[np.maximum(self._instance["prefill"], 0), np.arange(len(rows))])

        def of_decode(name: str) -> NDArray[np.int64]:
            return np.array([getattr(jobs[row], name) if row in jobs else 0 for row in rows], dtype=np.int64)

        records = Records(
            requests=self._requests,
            sent_s=self._sent_s,
            status=self._status,
            first_scheduled_s=of_prefill("first_scheduled_s"),
            first_token_s=self._first_token_s,
            finish_s=self._finish_s,
            n_preemptions=of_prefill("n_preemptions") + of_decode("n_preemptions"),
            cached_tokens=of_prefill("cached_tokens"),
            recomputed_tokens=of_prefill("recomputed_tokens") + of_decode("recomputed_tokens"),
            gaps=merge_gaps(parts),
            steps=merge_steps(parts)[0],
            n_blocks=sum(part.n_blocks for part in parts),
            end_s=self._now_s,
        )
        return {"records": records, "instances": tuple(parts), **self._instance, **self._times}


def _door(routing: Routing, texts: Texts, servers: Sequence[Stepper]) -> Door:
    def look(state: State, position: int) -> int:
        return texts.cached_tokens(position, state)

    return Door(routing, texts, [partial(look, server.state) for server in servers])
