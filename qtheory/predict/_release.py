"""How often prompts begin where memory is scarce and somebody always waits: in clumps, as it is released."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._cells import spread
from .inputs import Engine

__all__ = ["releases_per_step"]

Floats = NDArray[np.float64]

_PER_PROMPT = 24  # cells of a mean prompt
_WAITS = -np.log((np.arange(8) + 0.5) / 8)  # quantiles of an exponential law


def releases_per_step(engine: Engine, running: float) -> float:
    r"""Approximation: decode steps behind which prompts begin, to all of them.

    Requests that end in a step release their contexts, of which those that go on have taken a part meanwhile.
    Prompts that wait lie behind each other like the points of a renewal process on the line of tokens, and
    one begins if such a point falls into what is released, :math:`J` tokens: with probability
    :math:`1-E[(s-J)^+]/E[s]`.

    Parameters
    ----------
    engine : Engine
        Memory binds.
    running : float
        Requests that decode.
    """
    demand = engine.demand
    ends = running / max(demand.mean_decode, 1.0)
    some = -math.expm1(-ends)  # share of the steps in which any ends
    cell = demand.mean_prompt / _PER_PROMPT
    longest = float(demand.prompt_tokens.max() + demand.decode_steps.max())
    n = 1 << math.ceil(math.log2(2 * max(longest, 4 * (1 + ends) * demand.mean_context) / cell))
    prompt = spread(demand.prompt_tokens / cell, demand.prompt_probs, n)
    output = spread(demand.decode_steps / cell, demand.decode_probs, n)
    one = np.fft.rfft(prompt) * np.fft.rfft(output)
    law = np.fft.irfft((np.exp(ends * (one - 1)) - 1 + some) / some, n).clip(0.0)
    fits = np.cumsum(np.append(0.0, np.cumsum(prompt)))[:n]  # E[(x - s)^+] in cells
    unmet = _PER_PROMPT - np.arange(n) + fits  # E[(s - x)^+]
    taken = _WAITS * running / some / cell  # by those that go on, since the last end
    left = np.maximum(np.arange(n)[None, :] - taken[:, None], 0.0)
    none = float((np.interp(left, np.arange(n), unmet) @ law).mean()) / _PER_PROMPT
    return some * (1 - min(none, 1.0))
