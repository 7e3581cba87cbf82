"""The same conversations in the simulator: at a replica drawn for each request, or for each user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.system.models import find_model
from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica

from ._aibrix_runs import Run
from ._distserve_data import FittedStep

__all__ = ["Setting", "served"]

_N_REPLICAS, _BLOCK_TOKENS = 8, 512
_MODEL = "llama-3.1-8b"
_CARD_BYTES, _SHARE = 80e9, 0.9  # memory, and what vLLM uses of it
_OUTSIDE_BYTES = 2e9  # activations of 32,000 tokens
_HOST_BYTES = 120 * 2.0**30  # LMCACHE_MAX_LOCAL_CPU_SIZE, which LMCache multiplies by 1024**3
_BYTES_PER_S = 0.8 * 2.0e12  # at which keys and values are read
_SHARED_BLOCKS = 2  # of the system prompt, 1,000 tokens
_IDLE_S = 60.0

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Seconds of a hit, of a prompt computed whole, and of a token; and whether users stay in place."""

    hit_s: float
    cold_s: float
    prompt_tokens: int
    token_s: float
    is_sticky: bool

    def replica(self) -> Replica:
        """With the host's memory where there is one."""
        model = find_model(_MODEL)
        own = _SHARE * _CARD_BYTES - _OUTSIDE_BYTES - model.weight_bytes()
        held = _HOST_BYTES if self.is_sticky else own  # the host's holds what the card has, too
        per_token = model.kv_bytes_per_token()
        read_s = per_token / _BYTES_PER_S
        line = (max(self.token_s - self.prompt_tokens * read_s, 0.0), read_s, 0.0)
        slope = (self.cold_s - self.hit_s) / self.prompt_tokens
        step = FittedStep(prefill=(self.hit_s, slope, 0.0), small=line, large=line, threshold=0)
        n_blocks = int(held / (per_token * _BLOCK_TOKENS))
        return Replica(step_time=step, n_blocks=n_blocks, block_tokens=_BLOCK_TOKENS, prefix_cache=True)


def served(
    runs: Sequence[Run], setting: Setting, seed: int, *, from_the_top: bool = False
) -> list[tuple[Floats, Floats]]:
    """TTFT and end (n,) of the requests of each run, one after the other with what is cached.

    The lightest run is the first one, or the last. Where users stay at a replica their histories were sent
    there once before.
    """
    rng = np.random.default_rng(seed)
    first = [_warm(runs)] if setting.is_sticky else []
    rows = [*first, *(reversed(runs) if from_the_top else runs)]
    begin, at_s = [], 0.0
    for run in rows:
        begin.append(at_s - run.sent_s[0])
        at_s += run.sent_s[-1] - run.sent_s[0] + float(np.max(run.ttft_s + run.decode_s)) + _IDLE_S
    sent = np.concatenate([run.sent_s + start for run, start in zip(rows, begin, strict=True)])
    user, prompts, outputs = (
        np.concatenate([getattr(run, name) for run in rows])
        for name in ("user", "prompt_tokens", "output_tokens")
    )
    home = rng.integers(0, _N_REPLICAS, int(user.max()) + 1)[user]
    where = home if setting.is_sticky else rng.integers(0, _N_REPLICAS, len(user))
    ttft, end = np.empty(len(sent)), np.empty(len(sent))
    policy = make_policy(SchedulerSpec(name="vllm-v0"))
    for replica in range(_N_REPLICAS):
        own = np.flatnonzero(where == replica)
        asked = Requests(
            arrival_s=sent[own],
            prompt_tokens=prompts[own],
            output_tokens=outputs[own],
            block_hashes=_hashes(user[own], prompts[own], own),
        )
        records = engine.simulate(asked, policy, setting.replica())
        ttft[own], end[own] = records.first_token_s - sent[own], records.finish_s
    edges = np.cumsum([0, *(len(run.sent_s) for run in rows)])
    found = [(ttft[a:b], end[a:b] - start) for a, b, start in zip(edges[:-1], edges[1:], begin, strict=True)]
    found = found[len(first) :]
    return found[::-1] if from_the_top else found


def _warm(runs: Sequence[Run]) -> Run:
    """Everybody's first prompt, with time for each; those who come first in a run were there last."""
    user = np.array(list(dict.fromkeys(runs[-1].user.tolist())))[::-1]
    n, one = len(user), np.ones(len(user), dtype=np.int64)
    longest = int(runs[0].prompt_tokens[0])
    gap_s = float(np.max(runs[0].ttft_s)) + 1.0
    return Run(
        rate_rps=1 / gap_s,
        sent_s=gap_s * np.arange(n, dtype=np.float64),
        user=user,
        prompt_tokens=longest * one,
        output_tokens=one,
        ttft_s=np.zeros(n),
        decode_s=np.zeros(n),
    )


def _hashes(user: Ints, prompts: Ints, number: Ints) -> BlockHashes:
    """The system prompt is everybody's, a history its user's; the last block, with the question, is new."""
    ids, offsets = [], [0]
    for who, tokens, i in zip(user.tolist(), prompts.tolist(), number.tolist(), strict=True):
        n = -(-tokens // _BLOCK_TOKENS)
        kept = list(range(_SHARED_BLOCKS)) + [10**6 * (who + 1) + k for k in range(_SHARED_BLOCKS, n - 1)]
        ids += [*kept, 10**12 + i]
        offsets.append(len(ids))
    return BlockHashes(ids=np.array(ids), offsets=np.array(offsets), block_tokens=_BLOCK_TOKENS)
