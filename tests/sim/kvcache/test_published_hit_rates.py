"""Block hit rates of a published trace on a server that needs no time."""

from __future__ import annotations

from pathlib import Path

import pytest

from qtheory.system.workload import read_requests
from sim.kvcache import BlockPool

# size of the cache in blocks of 512 tokens, and the share of all prompt blocks that are found in it
RATES = {1_000: 0.0445, 5_000: 0.1118, 10_000: 0.2116, 20_000: 0.2878, 30_000: 0.3257, 50_000: 0.3546}
RATES |= {100_000: 0.3637}


def hit_rate(rows: list[list[int]], n_blocks: int) -> float:
    """Requests one after the other, each with all of its blocks in memory until the next comes."""
    pool, hits = BlockPool(n_blocks), 0
    for keys in rows:
        hit = pool.match(keys)
        pool.share(hit)
        new = pool.take(len(keys) - len(hit), [])
        for block, key in zip(new, keys[len(hit) :], strict=True):
            pool.publish(block, key=key)
        pool.release([*hit, *new][::-1])
        hits += len(hit)
    return hits / sum(map(len, rows))


@pytest.mark.shared
def test_the_conversation_trace_of_mooncake_has_the_known_hit_rates(shared: Path) -> None:
    requests = read_requests(str(shared / "data/traces/mooncake_fast25_conversation.jsonl.gz"))
    hashes = requests.block_hashes
    assert hashes is not None
    rows = [(hashes.row(index) + 1).tolist() for index in range(len(requests))]
    assert len(rows) == 12_031
    assert {size: round(hit_rate(rows, size), 4) for size in RATES} == RATES
