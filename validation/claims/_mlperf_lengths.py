"""Prompts and outputs of the MLPerf Inference data sets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from qtheory.system.workload import PairLengths
from qtheory.system.workload.readers import read_lengths

__all__ = ["FILES", "lengths_of"]

FILES = {
    "llama-2-70b": "traces/lengths_mlperf_mixtral-8x7b.csv",
    "mixtral-8x7b": "traces/lengths_mlperf_mixtral-8x7b.csv",
    "llama-3.1-405b": "traces/lengths_mlperf_llama3-1-405b.csv",
    "llama-3.1-8b": "traces/lengths_mlperf_llama3-1-8b-datacenter.csv",
    "deepseek-v3": "traces/lengths_mlperf_deepseek-r1.csv",
}
"""Where the lengths of a model's data set are."""

_ORCA_LONGEST = 1024
_FIXED_OUTPUT = 128
_MOST_PAIRS = 400


@cache
def lengths_of(folder: Path, model: str, mean_output: float) -> PairLengths:
    """Every so many of the data set's pairs, outputs stretched to the mean that was measured.

    The set of Llama-2-70B is not in a file: it is of OpenOrca, as is the middle third of Mixtral's, which is
    taken up to its longest prompt of 1,024 tokens. Outputs of Llama-3.1-8B all end at 128 tokens.
    """
    prompts, outputs = read_lengths(folder / FILES[model])
    if model == "llama-2-70b":
        third = len(prompts) // 3
        prompts, outputs = prompts[third : 2 * third], outputs[third : 2 * third]
        kept = prompts <= _ORCA_LONGEST
        prompts, outputs = prompts[kept], outputs[kept]
    chosen = np.linspace(0, len(prompts) - 1, min(_MOST_PAIRS, len(prompts))).astype(np.int64)
    prompts, outputs = prompts[chosen], outputs[chosen]
    if model == "llama-3.1-8b":
        outputs = np.full(len(prompts), _FIXED_OUTPUT)
    else:
        outputs = np.maximum(1, np.rint(outputs * mean_output / outputs.mean())).astype(np.int64)
    return PairLengths(prompt_tokens=prompts.tolist(), output_tokens=outputs.tolist())
