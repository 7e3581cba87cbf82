"""Zhong et al. (2024): prefill as M/D/1, on one accelerator or split over two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtheory.numerics.roots import bracketed_root
from qtheory.queues.single import MD1

from ._answers import mean_response_s, mean_wait_s
from .table import Row, Table

__all__ = ["tables"]

FIT_MS = (18.10254647, 0.10191226, 7.122264e-6)
"""Prefill of OPT-13B on one A100: constant, per token, per squared prompt length."""
TTFT_MS = {5.0: "92.5", 8.0: "121.4", 10.0: "165.6"}
CROSSOVER = {1.3: "0.611", 1.5: "0.936", 1.7: "1.257", 1.9: "1.626"}


def _prefill_s(prompt_tokens: int) -> float:
    fixed, linear, square = FIT_MS
    return 1e-3 * (fixed + linear * prompt_tokens + square * prompt_tokens**2)


def inter_s(load: float) -> float:
    """Mean TTFT of a pipeline of two stages of half the prefill each; the prefill takes one second."""
    return 1.0 + mean_wait_s(MD1(rate_rps=load, service_s=0.5))


def intra_s(load: float, speedup: float) -> float:
    """Mean TTFT where two accelerators work on the same prompt, ``speedup`` times faster."""
    return mean_response_s(MD1(rate_rps=load, service_s=1.0 / speedup))


def _crossover(speedup: float) -> float:
    """Load above which the pipeline has the smaller mean TTFT."""

    def gap(load: NDArray[np.float64], which: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.array([intra_s(float(x), speedup) - inter_s(float(x)) for x in load])

    return float(bracketed_root(gap, 1e-3, 0.9999 * speedup))


def tables() -> tuple[Table, ...]:
    """TTFT of one accelerator, and where the two ways of splitting are equal."""
    prefill_s = _prefill_s(512)
    ttft = [Row(case="prefill of 512 tokens, ms", source="72.15", ours=1e3 * prefill_s, origin="recomputed")]
    ttft += [
        Row(
            case=f"{rate:g} requests/s: mean TTFT, ms",
            source=said,
            ours=1e3 * mean_response_s(MD1(rate_rps=rate, service_s=prefill_s)),
            origin="recomputed",
        )
        for rate, said in TTFT_MS.items()
    ]
    crossover = [
        Row(case=f"speed-up {k:g}: load RD", source=said, ours=_crossover(k), origin="recomputed")
        for k, said in CROSSOVER.items()
    ]
    return Table(name="ttft", rows=tuple(ttft)), Table(name="crossover", rows=tuple(crossover))
