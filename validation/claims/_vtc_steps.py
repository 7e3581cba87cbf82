"""Step times told by the requests of finished runs: how long each decoded, and what went on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError

from ._distserve_data import FittedStep
from ._vtc_runs import Run

__all__ = ["step_of"]

Floats = NDArray[np.float64]
_LEAST_STEPS = 8  # of a request whose duration is looked at
_LEAST_REQUESTS = 50
_SAME_BATCH_S = 0.1  # first tokens this close came of one step


def step_of(runs: Sequence[Run]) -> tuple[FittedStep, float]:
    """Least squares over requests, and their relative error (root of the mean square).

    A request of d decodes takes d steps of decodes, each a constant and something a token read, and waits for
    the steps of prompts that come between, each a constant and something a prompt token. No coefficient is
    below zero.
    """
    from scipy.optimize import nnls  # slow to import, so only here

    counts, seconds = (np.concatenate(parts) for parts in zip(*map(_equations, runs), strict=True))
    if len(seconds) < _LEAST_REQUESTS:
        raise ConfigError(f"{runs[0].name}: {len(seconds)} requests are too few to tell step times")
    decode, context, prompt, token = nnls(counts / seconds[:, None], np.ones(len(seconds)))[0]
    line = (float(decode), float(context), 0.0)
    off = counts @ np.array([decode, context, prompt, token]) / seconds - 1
    step = FittedStep(prefill=(float(prompt), float(token), 0.0), small=line, large=line, threshold=0)
    return step, float(np.sqrt(np.mean(off**2)))


def _equations(run: Run) -> tuple[Floats, Floats]:
    """Counts (k, 4) of what a request waits for, and how long (k,) it decoded."""
    served = np.flatnonzero(np.isfinite(run.finish_s))
    first, end = run.first_token_s[served], run.finish_s[served]
    prompts, outputs = run.requests.prompt_tokens[served], run.requests.output_tokens[served]
    chosen = np.flatnonzero((outputs > _LEAST_STEPS) & (end > first))
    counts = np.empty((len(chosen), 4))
    for row, i in enumerate(chosen):
        low, high = np.maximum(first, first[i]), np.minimum(end, end[i])
        share = np.clip(high - low, 0.0, None) / (end[i] - first[i])  # of its time that each other ran beside
        grown = outputs * np.clip(((low + high) / 2 - first) / np.maximum(end - first, 1e-9), 0.0, 1.0)
        between = (first > first[i] + _SAME_BATCH_S / 2) & (first <= end[i])
        n_batches = np.count_nonzero(np.diff(np.sort(first[between]), prepend=-np.inf) > _SAME_BATCH_S)
        steps = outputs[i] - 1
        counts[row] = steps, steps * np.sum(share * (prompts + grown)), n_batches, np.sum(prompts[between])
    return counts, (end - first)[chosen]
