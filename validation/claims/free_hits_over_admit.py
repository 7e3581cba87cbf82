"""A hit on blocks that nobody uses takes free blocks too: who would be let in if it were forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload import TextRuns
from qtheory.system.workload.request import Requests
from sim import reference
from sim.kvcache import KvMemory
from sim.kvcache.texts import TextContents
from sim.policies import make_policy
from sim.replica import Replica
from sim.testing import AffineStep

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_N_REQUESTS, _N_DOCUMENTS, _DOCUMENT_TOKENS, _N_BLOCKS = 120, 6, 960, 250


def _example() -> Measured:
    """Three free blocks, two of which hold the first half of a prompt of four."""
    memory = KvMemory(n_blocks=3, block_tokens=1, prefix_cache=True)
    memory.open("before", [], 2)
    memory.publish("before", [1, 2], 2)
    memory.close("before")
    needed = memory.demand(memory.lookup([1, 2, 3, 4], 4), 4)
    return Measured(
        what="three blocks are free, two of them are the hit of a prompt of four: it needs four, and waits",
        found=f"needs {needed} of {memory.n_free}",
        holds=needed == 4,
    )


def _requests() -> Requests:
    """Questions of 40 to 200 tokens behind one of a few documents, with answers of 100 to 400."""
    rng = np.random.default_rng(0)
    own = rng.integers(40, 200, _N_REQUESTS)
    none = np.full(_N_REQUESTS, -1)
    runs = TextRuns(
        texts=rng.integers(0, _N_DOCUMENTS, _N_REQUESTS),
        starts=np.zeros(_N_REQUESTS, dtype=np.int64),
        n_tokens=np.full(_N_REQUESTS, _DOCUMENT_TOKENS),
        offsets=np.arange(_N_REQUESTS + 1),
        output_texts=none,
        output_starts=none + 1,
    )
    return Requests(
        arrival_s=np.cumsum(rng.exponential(1.0, _N_REQUESTS)),
        prompt_tokens=_DOCUMENT_TOKENS + own,
        output_tokens=rng.integers(100, 400, _N_REQUESTS),
        text_runs=runs,
    )


def _watched() -> tuple[int, list[int]]:
    """How many gates are closed, and by how many blocks those that are open where free hits cost nothing."""
    closed, short = 0, list[int]()

    class Memory(KvMemory):
        def demand(self, hit: Sequence[int], n_tokens: int, gone: Counter[int] | None = None) -> int:
            nonlocal closed
            needed = super().demand(hit, n_tokens, gone)
            if needed > self.n_free:
                closed += 1
                if self.blocks_for(n_tokens) - len(hit) <= self.n_free:
                    short.append(needed - self.n_free)
            return needed

    requests = _requests()
    step_time = AffineStep(base_s=0.01, per_token_s=5e-5)
    replica = Replica(step_time=step_time, n_blocks=_N_BLOCKS, prefix_cache=True)
    policy = make_policy(SchedulerSpec(name="chunked", budget_tokens=512))
    with patch("sim._state.KvMemory", Memory):
        reference.simulate(requests, policy, replica, contents=TextContents.of(requests))
    return closed, short


def _answer() -> Finding:
    closed, short = _watched()
    opened = Measured(
        what="under load some gates that are closed for want of blocks would be open if the hit cost nothing",
        found=f"{len(short)} of {closed}, up to {max(short, default=0)} blocks short",
        holds=len(short) > 0,
    )
    return Finding(parts=(_example(), opened))


CLAIM = Claim(
    name="free-hits-over-admit",
    question="Does a hit on blocks that are free let too many in if it is forgotten that it takes them?",
    source="vLLM V1, KVCacheManager.allocate_slots: hit blocks that nobody uses are taken off the free ones "
    "before the new ones are counted",
    calibrated="nothing: 120 questions behind 6 documents of 960 tokens, in 4,000 tokens of memory",
    teaches="cached blocks that are free count twice: as room, and as what need not be found",
    answer=_answer,
)
