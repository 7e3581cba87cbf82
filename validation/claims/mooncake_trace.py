"""A recorded stream of conversations at its own speed: what memory, order and router make of its prefixes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from qtheory.system.cluster import parse_router
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.readers import read_requests
from qtheory.system.workload.request import Requests
from sim import engine
from sim.cluster import Member, simulate_cluster
from sim.policies import make_policy
from sim.record import Records
from sim.replica import Replica
from sim.routing import make_router

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_FILE = "traces/mooncake_fast25_conversation.jsonl.gz"
_IDEAL_FRAC = 0.366  # of the blocks, with a cache that forgets nothing
_ENDLESS, _HOST = 1000, 10  # times the memory of a card
_ONE_CARD_SPEED, _BUSY_SPEED = 0.25, 0.5  # of the recorded one, for one replica
_N_REPLICAS = 4
_POINT = 0.01


class _Seen(NamedTuple):
    """Share of the prompt tokens that was reused, and mean seconds to the first token."""

    hit_frac: float
    ttft_s: float

    @classmethod
    def of(cls, records: Records) -> _Seen:
        reused = np.sum(records.cached_tokens) / np.sum(records.requests.prompt_tokens)
        return cls(float(reused), float(np.mean(records.first_token_s - records.sent_s)))

    def text(self) -> str:
        return f"{self.hit_frac:.1%} reused, TTFT {self.ttft_s:.2f} s"


def _replica(times: float) -> Replica:
    """A card that holds as many keys and values as so many do."""
    scenario = Scenario(hardware="h100", model="llama-3.1-8b", workload="chat", rate_rps=1.0, requests=1)
    spec = replica_of(scenario)
    return Replica(
        step_time=spec.step_time,
        n_blocks=round(times * spec.n_blocks),
        block_tokens=spec.block_tokens,
        prefix_cache=True,
    )


def _at(requests: Requests, speed: float) -> Requests:
    return replace(requests, arrival_s=requests.arrival_s / speed)


def _alone(requests: Requests, scheduler: str, times: float) -> _Seen:
    policy = make_policy(SchedulerSpec(name=scheduler, budget_tokens=2048))
    return _Seen.of(engine.simulate(requests, policy, _replica(times)))


def _routed(requests: Requests, router: str) -> _Seen:
    policy = make_policy(SchedulerSpec(name="chunked", budget_tokens=2048))
    members = [Member(policy, _replica(_HOST))] * _N_REPLICAS
    return _Seen.of(simulate_cluster(requests, members, make_router(parse_router(router))).records)


def _of_memory(requests: Requests) -> tuple[Measured, ...]:
    slow = _at(requests, _ONE_CARD_SPEED)
    endless, card = (_alone(slow, "chunked", times) for times in (_ENDLESS, 1))
    return (
        Measured(
            what=f"with memory for all of it as much is reused as could be, {_IDEAL_FRAC:.1%} by blocks",
            found=endless.text(),
            holds=abs(endless.hit_frac - _IDEAL_FRAC) < _POINT,
        ),
        Measured(
            what="the memory of one card loses most of that",
            found=card.text(),
            holds=card.hit_frac < endless.hit_frac / 2 and card.ttft_s > endless.ttft_s,
        ),
    )


def _better(what: str, better: _Seen, worse: _Seen) -> Measured:
    return Measured(
        what=what,
        found=f"{better.text()}, against {worse.text()}",
        holds=better.hit_frac > worse.hit_frac and better.ttft_s < worse.ttft_s,
    )


def _answer(folder: Path) -> Finding:
    requests = read_requests(folder / _FILE)
    busy = _at(requests, _BUSY_SPEED)
    order = _better(
        "one busy replica with the host's memory: the longest prefix first reuses more, and answers sooner",
        _alone(busy, "cache_aware", _HOST),
        _alone(busy, "chunked", _HOST),
    )
    router = _better(
        f"{_N_REPLICAS} of them at the recorded speed: following the prefix beats counting requests",
        _routed(requests, "cache_aware"),
        _routed(requests, "least_requests"),
    )
    return Finding(parts=(*_of_memory(requests), order, router))


CLAIM = Claim(
    name="mooncake-conversations",
    question="On a recorded stream of conversations, do memory, order and router decide what is reused?",
    source="Qin et al. (2025), Mooncake, FAST 25, and its conversation trace: 12,031 requests in an hour, "
    "prompts of 12,000 tokens in the mean",
    calibrated="nothing: an H100 with Llama-3.1-8B by its datasheet, steps of 2,048 tokens; one replica sees "
    "the trace at a quarter of its speed, or at half (busy); the host's memory is ten times the card's",
    teaches="prefixes are not found, or not kept as long as they could be, or a router follows others",
    answer=_answer,
    needs=(_FILE,),
)
