"""How many requests to serve at once: the authors' six scenarios."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ._inferno_server import Server

__all__ = ["SEARCHES", "Search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A server, two targets and what the authors found for batches of 1 to 256.

    Parameters
    ----------
    name : str
        Of the scenario.
    server : Server
        Its batch is replaced by each that is tried.
    itl_ms, ttft_ms : float
        Targets.
    by_itl, by_prefill : str
        Their closed-form batches, as printed.
    onset, short_percent, peak_rps : str
        Their batch of largest throughput, by how much that of ``by_itl`` falls short, and the throughput.
    """

    name: str
    server: Server
    itl_ms: float
    ttft_ms: float
    by_itl: str = ""
    by_prefill: str = ""
    onset: str = ""
    short_percent: str = ""
    peak_rps: str | None = None

    def peak_at(self, batch: int) -> float:
        """Throughput at the largest rate within both targets."""
        server = replace(self.server, batch=batch)
        rate_rps = server.rate_for(ttft_ms=self.ttft_ms, itl_ms=self.itl_ms)
        return server.solve(rate_rps).throughput_rps if rate_rps > 0 else 0.0

    def found_by_itl(self) -> int:
        """Largest batch whose full step still meets the ITL target."""
        return _within((self.itl_ms - self.server.itl_alone_ms()) / self.server.slope_ms)

    def found_by_prefill(self) -> int:
        """Largest batch in which a prefill alone still meets the TTFT target."""
        return _within((self.ttft_ms - self.server.base_ms - self.server.prefill_ms) / self.server.slope_ms)

    def found_onset(self) -> int:
        """First batch at which the ITL target binds (256: none), where the throughput is largest."""
        low, high = 1, 256
        while low < high:
            middle = (low + high) // 2
            server = replace(self.server, batch=middle)
            with_ttft, with_itl = server.rate_for(ttft_ms=self.ttft_ms), server.rate_for(itl_ms=self.itl_ms)
            low, high = (low, middle) if with_itl < with_ttft else (middle + 1, high)
        return low


def _within(others: float) -> int:
    return min(max(math.floor(1.0 + others), 1), 256)


_MIDDLE = Server(
    base_ms=8.0, compute_ms=0.033, memory_ms=0.000333, prompt_tokens=256, output_tokens=1024, batch=1
)
_FAST = replace(_MIDDLE, base_ms=4.0, compute_ms=0.017, memory_ms=0.000167)
_SLOW = replace(_MIDDLE, base_ms=16.0, compute_ms=0.067, memory_ms=0.000667)
SEARCHES = (
    Search(
        name="baseline",
        server=_MIDDLE,
        itl_ms=20.0,
        ttft_ms=60.0,
        by_itl="40",
        by_prefill="147",
        onset="69",
        short_percent="23.5",
        peak_rps="1.9232237",
    ),
    Search(
        name="alpha low",
        server=_FAST,
        itl_ms=20.0,
        ttft_ms=60.0,
        by_itl="107",
        by_prefill="256",
        onset="170",
        short_percent="10.1",
    ),
    Search(
        name="alpha high",
        server=_SLOW,
        itl_ms=20.0,
        ttft_ms=60.0,
        by_itl="6",
        by_prefill="45",
        onset="17",
        short_percent="75.8",
    ),
    Search(
        name="ITL only",
        server=replace(_MIDDLE, output_tokens=4096),
        itl_ms=15.0,
        ttft_ms=400.0,
        by_itl="8",
        by_prefill="256",
        onset="17",
        short_percent="48.3",
        peak_rps="0.13",
    ),
    Search(
        name="TTFT only",
        server=replace(_MIDDLE, prompt_tokens=1024, output_tokens=256),
        itl_ms=60.0,
        ttft_ms=80.0,
        by_itl="95",
        by_prefill="70",
        onset="92",
        short_percent="0.0",
    ),
    Search(
        name="unbounded",
        server=replace(_FAST, prompt_tokens=64, output_tokens=128, queue=4),
        itl_ms=200.0,
        ttft_ms=2000.0,
        by_itl="256",
        by_prefill="256",
        onset="256",
        short_percent="0.0",
        peak_rps="121",
    ),
)
