"""Fagin (1977), Che (2002), Denning (1968): hit rates of a cache that drops what was used least recently."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.queues.caches import PopularityCache, WorkingSetCache, reuse_times, stack_distances, zipf

from .table import Row, Table

__all__ = ["tables", "trace_table"]

N_PREFIXES, PREFIX_BLOCKS, OWN_BLOCKS, N_REQUESTS = 2000, 4, 2, 60_000
CAPACITIES = (500, 1000, 2000, 4000, 8000)
TRACE_BLOCKS = {
    1_000: ".0445",
    5_000: ".1118",
    10_000: ".2116",
    20_000: ".2878",
    30_000: ".3257",
    50_000: ".3546",
    100_000: ".3637",
}
"""Blocks of the cache, and hit rate of the conversation trace."""
BY_POPULARITY = {10_000: "0.138", 100_000: "0.673"}
THREE_MILLION_TOKENS = 3_000_000 // 512
_WORKING_SET, _POPULARITY = 0.0035, 0.004  # largest distances from the measured hit rates


def _drawn_hits() -> list[float]:
    """Hit rates of prefixes drawn by popularity, each followed by blocks that nobody asks for again."""
    level = np.cumsum(zipf(n_items=N_PREFIXES, exponent=0.9))
    drawn = np.random.Generator(np.random.PCG64(1)).random(N_REQUESTS)
    prefix = np.minimum(np.searchsorted(level, drawn), N_PREFIXES - 1)
    first = prefix[:, None] * PREFIX_BLOCKS + np.arange(PREFIX_BLOCKS)
    own = PREFIX_BLOCKS * N_PREFIXES + np.arange(OWN_BLOCKS * N_REQUESTS).reshape(N_REQUESTS, OWN_BLOCKS)
    return _hit_rates(np.hstack([first, own]).tolist(), CAPACITIES, warm_up=N_REQUESTS // 3)


def _hit_rates(requests: list[list[int]], capacities: tuple[int, ...], *, warm_up: int = 0) -> list[float]:
    """Exact LRU over the blocks of a prompt, the last block touched first, so that the first is kept longest.

    A prompt finds a block if the cache held it before the prompt came: its later blocks, touched just
    before, do not count. The first ``warm_up`` requests are not counted.
    """
    later = np.concatenate([np.arange(len(blocks)) for blocks in requests])
    distance = stack_distances([block for blocks in requests for block in reversed(blocks)])
    skipped = sum(len(blocks) for blocks in requests[:warm_up])
    distance, before = distance[skipped:], (distance - later)[skipped:]
    return [float(np.mean((distance > 0) & (before <= capacity))) for capacity in capacities]


def _by_popularity(capacity: int) -> float:
    """Che's hit rate of the blocks of prefixes, beside blocks that nobody asks for again.

    Each of those stays for the whole time T, so that they fill T times the rate at which they come. One huge
    item that is almost never asked for fills the same.
    """
    popularity = np.repeat(zipf(n_items=N_PREFIXES, exponent=0.9), PREFIX_BLOCKS)
    seldom = 1e-12
    cache = PopularityCache(
        popularity=np.append(popularity, seldom),
        size=np.append(np.ones(len(popularity)), OWN_BLOCKS / seldom),
        capacity=capacity,
    )
    hits = cache.solve().hit_frac_by_item[:-1]
    return float(popularity @ hits) / (PREFIX_BLOCKS + OWN_BLOCKS)


def tables() -> tuple[Table, ...]:
    """Drawn prefixes: exact LRU against Che's approximation."""
    rows = [
        Row(
            case=f"{capacity} blocks: hit rate",
            source=f"{hit:.4f}",
            ours=_by_popularity(capacity),
            origin="measured",
            within=_POPULARITY,
        )
        for capacity, hit in zip(CAPACITIES, _drawn_hits(), strict=True)
    ]
    return (Table(name="drawn", rows=tuple(rows)),)


def trace_table(path: Path) -> Table:
    """Mooncake's conversation trace: exact LRU, popularity and working set.

    Parameters
    ----------
    path : Path
        ``conversation_trace.jsonl`` of the FAST '25 release, also packed with gzip.

    Raises
    ------
    ConfigError
        If a line has no ``hash_ids``.
    """
    requests = _block_ids(path)
    measured = _hit_rates(requests, (*TRACE_BLOCKS, THREE_MILLION_TOKENS, 10**9))
    most = measured[-1]
    rows = [
        Row(case=f"exact LRU, {blocks} blocks", source=f"0{said}", ours=hit, origin="recomputed")
        for (blocks, said), hit in zip(TRACE_BLOCKS.items(), measured, strict=False)
    ]
    rows.append(Row(case="exact LRU, no limit", source="0.3664", ours=most, origin="recomputed"))
    share = 100 * measured[-2] / most
    rows.append(Row(case="3 million tokens, % of no limit", source="37", ours=share, origin="recomputed"))
    items = [block for blocks in requests for block in blocks]
    counts = np.unique(items, return_counts=True)[1].astype(float)
    for blocks, said in BY_POPULARITY.items():
        hit = PopularityCache(popularity=counts, capacity=blocks).solve().hit_frac
        rows.append(Row(case=f"by popularity, {blocks} blocks", source=said, ours=hit, origin="recomputed"))
    came = np.repeat(np.arange(float(len(requests))), [len(blocks) for blocks in requests])
    reuse = reuse_times(items, came)
    for blocks, hit in zip(TRACE_BLOCKS, measured, strict=False):
        cache = WorkingSetCache(rate_rps=len(items) / len(requests), reuse_s=reuse, capacity=blocks)
        rows.append(
            Row(
                case=f"working set, {blocks} blocks",
                source=f"{hit:.4f}",
                ours=cache.solve().hit_frac,
                origin="measured",
                within=_WORKING_SET,
            )
        )
    return Table(name="trace", rows=tuple(rows))


def _block_ids(path: Path) -> list[list[int]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        rows = [json.loads(line) for line in lines]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or "hash_ids" not in row:
            raise ConfigError(f"{path.name}: line {number} has no hash_ids")
    return [row["hash_ids"] for row in rows]
