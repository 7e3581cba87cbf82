"""Longest cached prefix first: good for the many, bad for the cold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtheory.system.scheduler import SchedulerSpec
from qtheory.system.workload.block_hashes import BlockHashes
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica
from sim.testing import AffineStep

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_N_REQUESTS, _N_DOCUMENTS, _BLOCK_TOKENS = 600, 8, 512
_DOCUMENT_BLOCKS, _COLD_FRAC = 6, 0.1


def _requests(gap_s: float) -> tuple[Requests, NDArray[np.bool_]]:
    """Requests over a few documents, some that share nothing, and which those are."""
    rng = np.random.default_rng(0)
    is_cold = rng.random(_N_REQUESTS) < _COLD_FRAC
    document = rng.integers(0, _N_DOCUMENTS, _N_REQUESTS)
    ids = []
    for i in range(_N_REQUESTS):
        first = 10**6 + 100 * i if is_cold[i] else 100 * int(document[i])
        ids += [*range(first, first + _DOCUMENT_BLOCKS), 10**8 + i]
    per_request = _DOCUMENT_BLOCKS + 1
    requests = Requests(
        arrival_s=np.cumsum(rng.exponential(gap_s, _N_REQUESTS)),
        prompt_tokens=np.full(_N_REQUESTS, per_request * _BLOCK_TOKENS - 400),
        output_tokens=np.full(_N_REQUESTS, 20),
        block_hashes=BlockHashes(
            ids=np.array(ids),
            offsets=np.arange(0, per_request * _N_REQUESTS + 1, per_request),
            block_tokens=_BLOCK_TOKENS,
        ),
    )
    return requests, is_cold


def _first_token_s(gap_s: float, n_blocks: int) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_]]:
    """TTFT in order of arrival and by the longest prefix, and which requests are cold."""
    requests, is_cold = _requests(gap_s)
    step = AffineStep(base_s=0.01, per_token_s=5e-5)
    replica = Replica(step_time=step, n_blocks=n_blocks, prefix_cache=True)
    ttft_s = {}
    for name in ("chunked", "cache_aware"):
        policy = make_policy(SchedulerSpec(name=name, budget_tokens=2048, max_seqs=16))
        records = engine.simulate(requests, policy, replica)
        ttft_s[name] = np.asarray(records.first_token_s - requests.arrival_s)
    return ttft_s, is_cold


def _answer() -> Finding:
    parts = []
    for where, gap_s, n_blocks in (("little memory", 0.058, 1600), ("a standing queue", 0.03, 6000)):
        ttft_s, is_cold = _first_token_s(gap_s, n_blocks)
        ours, plain = (float(np.median(ttft_s[name])) for name in ("cache_aware", "chunked"))
        found = f"{ours:.2f} s against {plain:.2f} s"
        what = f"{where}: a lower median TTFT than in order of arrival"
        parts.append(Measured(what=what, found=found, holds=ours < plain))
    worst, before = (float(np.max(ttft_s[name][is_cold])) for name in ("cache_aware", "chunked"))
    found = f"{worst:.1f} s against {before:.1f} s"
    what = f"{where}: a longer wait of the worst cold request"
    parts.append(Measured(what=what, found=found, holds=worst > before))
    late = ttft_s["cache_aware"] > 10 * ours
    share = float(np.mean(is_cold[late])) if np.any(late) else 0.0
    what = f"{where}: of those that wait ten medians, most are cold"
    found = f"{share:.0%} of {int(np.sum(late))}"
    parts.append(Measured(what=what, found=found, holds=share > 0.5))
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="longest-prefix-starves",
    question="Does serving the longest cached prefix first lower the median TTFT and starve cold requests?",
    source="Zheng et al. (2024), SGLang, NeurIPS 24 (starvation is named, and left open); SGLang, policy lpm",
    calibrated="nothing: 8 documents of 3,072 tokens, one request in ten without any; once with memory for "
    "hardly more than the documents, once with enough and more requests than can be served",
    teaches="the order does not look at the cache, or something gives the cold their turn",
    answer=_answer,
)
