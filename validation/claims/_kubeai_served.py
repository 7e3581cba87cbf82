"""Threads of messages before eight replicas: in turn, or by a hash of how a prompt begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests
from sim.cluster import Member, simulate_cluster
from sim.policies import make_policy
from sim.replica import Replica
from sim.routing import LeastRequests, RoundRobin, Router
from sim.routing.load import Asked, Worker

__all__ = ["ROUTERS", "BoundedHash", "ServedThreads", "served", "threads"]

_N_THREADS, _TURNS = 800, 10  # --max-conversations, and 8,000 prompts of them
_BLOCK_TOKENS, _SEED = 16, 12_345
_LOAD_FACTOR = 1.25  # default of the source
_BUDGET_TOKENS, _MAX_SEQS = 16_384, 256


@dataclass(frozen=True, slots=True)
class BoundedHash:
    """Consistent hashing with bounded loads: the replica of a beginning, or the next if it is busy [1]_.

    References
    ----------
    .. [1] Mirrokni, Thorup, Zadimoghaddam (2018), "Consistent hashing with bounded loads", SODA.
    """

    name: ClassVar[str] = "bounded_hash"

    def begin(self, rng: np.random.Generator) -> _Ring:
        """With a ring of its own."""
        return _Ring(rng)


class _Ring:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._turn: dict[int, list[float]] = {}

    def choose(self, asked: Asked, workers: Sequence[Worker]) -> int:
        marks = self._turn.setdefault(asked.keys[0] if asked.keys else -1, self._rng.random(64).tolist())
        loads = [worker.load.n_requests for worker in workers]
        most = _LOAD_FACTOR * (sum(loads) + 1) / len(loads)
        order = sorted(range(len(workers)), key=lambda place: marks[workers[place].index])
        return next((place for place in order if loads[place] + 1 <= most), order[0])

    def forget(self, index: int) -> None:
        """Its part of the ring is found free when it comes back."""


ROUTERS: dict[str, Router] = {
    "round_robin": RoundRobin(),
    "least_load": LeastRequests(),
    "prefix_hash": BoundedHash(),
}
"""Strategies by the words of the source."""


class ServedThreads(NamedTuple):
    """What came of a run."""

    rate_rps: float
    ttft_s: float
    tpot_s: float


def threads(
    n: int, rate_rps: float, prompt_tokens: float, output_tokens: float, seed: int = _SEED
) -> Requests:
    """So many requests: prompts of growing threads, in any order, and from the beginning if there are more.

    The k-th prompt of a thread has its first k turns, each of exponential length; outputs are exponential.
    """
    rng = np.random.default_rng(seed)
    shape = (_N_THREADS, _TURNS)
    turns = np.maximum(rng.exponential(2 * prompt_tokens / (_TURNS + 1), shape), 8)
    lengths = np.cumsum(turns, axis=1).astype(np.int64)
    outputs = np.maximum(rng.exponential(output_tokens, shape), 4).astype(np.int64)
    order = rng.permutation(_N_THREADS * _TURNS)[np.arange(n) % (_N_THREADS * _TURNS)]
    thread, turn = order // _TURNS, order % _TURNS
    prompts = lengths[thread, turn]
    rows = [_ids(*each) for each in zip(thread.tolist(), turn.tolist(), prompts.tolist(), strict=True)]
    return Requests(
        arrival_s=np.cumsum(rng.exponential(1 / rate_rps, n)),
        prompt_tokens=prompts,
        output_tokens=outputs[thread, turn],
        block_hashes=BlockHashes(
            ids=np.concatenate(rows),
            offsets=np.cumsum([0, *map(len, rows)]),
            block_tokens=_BLOCK_TOKENS,
        ),
    )


def _ids(thread: int, turn: int, tokens: int) -> NDArray[np.int64]:
    """Whole blocks are those of the thread; the last one, cut in its midst, is this prompt's."""
    ids = 10**6 * thread + np.arange(-(-tokens // _BLOCK_TOKENS))
    if tokens % _BLOCK_TOKENS:
        ids[-1] = 10**9 + 100 * thread + turn
    return ids


@dataclass(frozen=True, slots=True)
class _Slower:
    """Steps that take so many times as long."""

    step: StepTime
    factor: float

    def step_s(self, load: StepLoad) -> float:
        return self.factor * self.step.step_s(load)

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        line = self.step.decode_line(n_decodes)
        return None if line is None else (self.factor * line[0], self.factor * line[1])


def served(requests: Requests, router: str, n_replicas: int, client_cap: int, slower: float) -> ServedThreads:
    """One run behind one of `ROUTERS`, with at most so many requests in flight at the client."""
    scenario = Scenario(
        hardware="l4", model="llama-3.1-8b", weights="fp8", kv_dtype="fp8", scheduler="vllm",
        budget_tokens=_BUDGET_TOKENS, max_seqs=_MAX_SEQS, prefix_cache=True, workload="chat", rate_rps=1.0,
        requests=1, memory_frac=0.95,
    )  # fmt: skip
    spec = replica_of(scenario)
    replica = Replica(
        step_time=_Slower(spec.step_time, slower),
        n_blocks=spec.n_blocks,
        block_tokens=_BLOCK_TOKENS,
        prefix_cache=True,
    )
    members = [Member(make_policy(spec.scheduler), replica)] * n_replicas
    found = simulate_cluster(requests, members, ROUTERS[router], client_cap=client_cap).records
    decodes = np.maximum(requests.output_tokens - 1, 1)
    return ServedThreads(
        rate_rps=len(requests) / float(np.max(found.finish_s)),
        ttft_s=float(np.mean(found.first_token_s - found.sent_s)),
        tpot_s=float(np.mean((found.finish_s - found.first_token_s) / decodes)),
    )
