"""One run of prefill and decode pools in the fast engine: from change to change, not from step to step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim._client import Client
from sim.fast.garbage import no_garbage
from sim.fast.job import FastJob
from sim.fast.live import Clock
from sim.fast.post import JobMaker
from sim.job import SAME_MOMENT_S
from sim.kvcache import Contents
from sim.record import Records, Status
from sim.routing import Routing

from ._merge import merge_gaps, merge_steps
from ._paced_pools import DecodeLoop, Gone, PromptLoop
from ._prefill import prompts_of
from ._queued_links import QueuedLinks
from ._views import Door, Texts

if TYPE_CHECKING:
    from .pools import Pools

__all__ = ["PacedRun"]


class PacedRun:
    """As `PoolRun`, to be started once; only counts of requests are seen by the routers.

    Between two changes decodes go on by themselves. A moment at which nothing can begin or end is left out:
    transfers are begun where a prompt came to its end, a link got free or a decode instance got room.
    """

    def __init__(
        self, requests: Requests, pools: Pools, *, client_cap: int, think_s: float, seed: int
    ) -> None:
        n, alone = len(requests), prompts_of(requests)
        self._requests, self._pools = requests, pools
        self._client = Client(requests, cap=client_cap, think_s=think_s)
        self._next_sent_s = self._client.next_s
        self._clock, self._links = Clock(), QueuedLinks(pools.link)
        self._gone: Gone = []
        common = self._clock, self._gone
        self._prefill = [PromptLoop(alone, one, *common) for one in pools.prefill]
        self._decode = [DecodeLoop(requests, one, *common) for one in pools.decode]
        self._loops = [*self._prefill, *self._decode]
        self._prompts, self._outputs = JobMaker(alone), JobMaker(requests)
        self._jobs: dict[int, FastJob] = {}  # what will decode, and has not come to its end
        first, second = np.random.default_rng(seed).spawn(2)
        self._to_prefill = _door(pools.prefill_router.begin(first), requests, self._prefill)
        self._to_decode = _door(pools.decode_router.begin(second), requests, self._decode)
        given = requests.max_output_tokens
        most = requests.output_tokens if given is None else np.maximum(requests.output_tokens, given)
        self._may_decode: list[bool] = (most > 1).tolist()
        self._n_output: list[int] = requests.output_tokens.tolist()
        names = ("prefill_end_s", "transfer_start_s", "transfer_end_s", "sent_s", "first_token_s", "finish_s")
        self._s: dict[str, list[float]] = {name: [math.nan] * n for name in names}
        self._status = [int(Status.UNFINISHED)] * n
        self._instance = {name: [-1] * n for name in ("prefill", "decode")}
        self._now_s = 0.0

    def run(self, until_s: float) -> dict[str, Any]:
        """From moment to moment; the fields of `PoolRecords`."""
        with no_garbage():
            self._run(until_s)
        return self._result()

    def _run(self, until_s: float) -> None:
        links, loops = self._links, self._loops
        while True:
            at_s = min([loop.next_s for loop in loops])
            at_s = min(at_s, self._next_sent_s, links.next_s)
            if math.isinf(at_s) or at_s > until_s:
                break
            self._now_s = max(self._now_s, at_s)
            self._clock.now_s = at_s
            by_s = at_s + SAME_MOMENT_S
            self._end_all(by_s)
            if self._next_sent_s <= by_s:
                self._take_arrivals(at_s)
            if links.may_begin:
                links.begin(at_s, self._reserve)
            after_s = max(at_s + 2 * SAME_MOMENT_S, math.nextafter(at_s, math.inf))  # of late clocks
            for prefill in self._prefill:
                if prefill.next_s < after_s:
                    prefill.advance(after_s, by_s)
            self._go_on(after_s, by_s)
            if self._gone:
                self._collect()
        if not math.isinf(at_s):
            self._now_s = until_s
        for loop in loops:
            if math.isinf(at_s) and (loop.state.line.n or loop.state.n_running):
                raise loop.state.stuck()
            loop.stop(self._now_s)

    def _go_on(self, after_s: float, by_s: float) -> None:
        """Decode instances begin; if one gets room by it, the next moment is when any step ends."""
        has_room = False
        for target, loop in enumerate(self._decode):
            loop.settled_s = after_s
            if loop.next_s < after_s:
                was_short, n_gone = loop.state.line.n > 0, len(self._gone)
                loop.advance(after_s, by_s)
                if (was_short and not loop.state.line.n) or len(self._gone) > n_gone:
                    has_room = has_room or self._links.waits_for(target)
        if has_room:
            self._links.may_begin = True
            for loop in self._decode:
                loop.cut(self._clock.now_s)

    # ---- ends

    def _end_all(self, by_s: float) -> None:
        ready: list[tuple[float, int, FastJob]] = []
        for source, loop in enumerate(self._prefill):
            if loop.next_s <= by_s:
                loop.advance(-math.inf, by_s)
            if loop.done:
                ready += [(end_s, source, job) for end_s, job in loop.done]
                loop.done.clear()
        if len(ready) > 1:
            ready.sort(key=lambda row: row[:2])
        for end_s, source, job in ready:
            self._prefilled(job, source, end_s)
        for one in self._links.end(by_s):
            row = one.job.position
            self._s["transfer_start_s"][row], self._s["transfer_end_s"][row] = one.start_s, one.end_s
            self._prefill[one.source].release(row, one.end_s)
            if self._pools.first_token == "transfer_end":
                one.job.first_token_s = one.job.last_token_s = self._s["first_token_s"][row] = one.end_s
            self._decode[one.target].send(one.job, one.end_s)
        for decode in self._decode:
            if decode.next_s <= by_s:
                decode.advance(-math.inf, by_s)
        if self._gone:
            self._collect()

    def _prefilled(self, job: FastJob, source: int, end_s: float) -> None:
        row, told_s = job.position, self._s
        told_s["prefill_end_s"][row] = end_s
        if self._n_output[row] == 1:
            told_s["first_token_s"][row] = end_s
            self._finish(row, end_s, Status.FINISHED)
            self._prefill[source].release(row, end_s)
            return
        if self._pools.first_token == "prefill_end":
            told_s["first_token_s"][row] = end_s
        target = self._to_decode.choose(row)
        self._decode[target].n_requests += 1
        moved = self._jobs.pop(row)
        moved.first_scheduled_s = job.first_scheduled_s
        moved.first_token_s = moved.last_token_s = end_s
        moved.computed_tokens, moved.n_outputs = moved.prompt_tokens, 1
        moved.known_tokens += 1
        moved.is_prefilling = moved.is_waiting = False
        self._links.add(moved, source, target)

    def _collect(self) -> None:
        """Jobs that ended at an instance, whichever way."""
        for row, at_s, how in self._gone:
            self._finish(row, at_s, how)
        self._gone.clear()
        self._links.may_begin = True

    def _finish(self, row: int, at_s: float, how: Status) -> None:
        self._s["finish_s"][row], self._status[row] = at_s, int(how)
        self._client.place_free(at_s, row)
        self._next_sent_s = self._client.next_s

    # ---- beginnings

    def _take_arrivals(self, at_s: float) -> None:
        for row, sent_s in self._client.take(at_s):
            self._s["sent_s"][row] = sent_s
            source = self._to_prefill.choose(row)
            loop, decodes = self._prefill[source], self._decode if self._may_decode[row] else ()
            if loop.state.can_never_run(row) or any(one.state.can_never_run(row) for one in decodes):
                self._finish(row, sent_s, Status.REJECTED)
                continue
            self._instance["prefill"][row] = source
            if self._n_output[row] > 1:
                self._jobs[row] = self._outputs.make(row, sent_s)
            loop.offer(self._prompts.make(row, sent_s), sent_s)
        self._next_sent_s = self._client.next_s

    def _reserve(self, target: int, job: FastJob) -> bool:
        if not self._decode[target].reserve(job, self._clock.now_s):
            return False
        self._instance["decode"][job.position] = target
        return True

    # ---- the end

    def _result(self) -> dict[str, Any]:
        told_s = {name: np.array(values) for name, values in self._s.items()}
        instance = {name: np.array(values, dtype=np.int64) for name, values in self._instance.items()}
        parts = [loop.close() for loop in self._loops]
        ones, others = parts[: len(self._prefill)], parts[len(self._prefill) :]
        for place, part in enumerate(others, len(self._prefill)):
            came_s = np.where(np.isnan(part.sent_s), math.nan, told_s["transfer_end_s"])
            parts[place] = replace(part, sent_s=came_s)
        start_s = _pick(ones, "first_scheduled_s", instance["prefill"])
        records = Records(
            requests=self._requests,
            sent_s=told_s["sent_s"],
            status=np.array(self._status, dtype=np.int64),
            first_scheduled_s=start_s,
            first_token_s=told_s["first_token_s"],
            finish_s=told_s["finish_s"],
            n_preemptions=_summed(parts, "n_preemptions"),
            cached_tokens=np.zeros(len(self._requests), dtype=np.int64),
            recomputed_tokens=_summed(parts, "recomputed_tokens"),
            gaps=merge_gaps(parts),
            steps=merge_steps(parts)[0],
            n_blocks=sum(part.n_blocks for part in parts),
            end_s=self._now_s,
        )
        return {
            "records": records,
            "instances": tuple(parts),
            **instance,
            "prefill_start_s": np.where(np.isnan(told_s["prefill_end_s"]), math.nan, start_s),
            **{name: told_s[name] for name in ("prefill_end_s", "transfer_start_s", "transfer_end_s")},
        }


def _pick(parts: list[Records], name: str, which: NDArray[np.int64]) -> NDArray[Any]:
    """Of each request what its instance says (n,)."""
    columns = np.stack([getattr(part, name) for part in parts])  # (x, n)
    return np.asarray(columns[np.maximum(which, 0), np.arange(len(which))])


def _summed(parts: list[Records], name: str) -> NDArray[np.int64]:
    return np.asarray(np.sum([getattr(part, name) for part in parts], axis=0, dtype=np.int64))


def _door(routing: Routing, requests: Requests, loops: list[PromptLoop] | list[DecodeLoop]) -> Door:
    texts = Texts(requests, Contents.unique(len(requests)), loops[0].state.block_tokens)
    door = Door(routing, texts, [None] * len(loops))
    door.see(loops)
    return door
