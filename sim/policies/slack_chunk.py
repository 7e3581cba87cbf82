"""How much of prompts a step computes without holding up those who decode."""

from __future__ import annotations

import math

from qtheory.system.steptime import StepLoad, StepTime
from sim.job import SAME_MOMENT_S

__all__ = ["slack_tokens"]

_SAFETY = 1.2  # times the predicted step


def slack_tokens(
    step_time: StepTime,
    *,
    n_decodes: int,
    context_tokens: int,
    before_tokens: int,
    slack_s: float,
    block_tokens: int,
    budget_tokens: int,
) -> int:
    """Most prompt tokens with which a step ends before the next token of any running decode is due [1]_.

    The step is predicted as if its prompt tokens were the next ones of one prompt, and taken 1.2 times as
    long. Whole blocks are tried, or all that the budget leaves; one block may always be computed.

    Parameters
    ----------
    step_time : StepTime
        Seconds of a step.
    n_decodes, context_tokens : int
        Decodes of the step, >= 0, and tokens that they attend to.
    before_tokens : int
        Tokens of the prompt that are computed already, >= 0.
    slack_s : float
        Seconds until the first of the next tokens is due; below zero if it is late, infinite if none is due.
    block_tokens : int
        Tokens of a block, >= 1.
    budget_tokens : int
        Tokens of a step at most, those of the decodes included.

    Returns
    -------
    int
        Tokens, at most what the decodes leave of the budget.

    References
    ----------
    .. [1] Goel et al. (2025), "Niyama: breaking the silos of LLM inference serving", arXiv:2503.22562:
       dynamic chunking.

    Examples
    --------
    >>> from sim.testing import AffineStep
    >>> step_time = AffineStep(base_s=5.0, per_token_s=0.01)
    >>> sizes = {"before_tokens": 0, "block_tokens": 128, "budget_tokens": 2048}
    >>> slack_tokens(step_time, n_decodes=2, context_tokens=90, slack_s=13.0, **sizes)
    512
    """
    most = budget_tokens - n_decodes
    if slack_s == math.inf:
        return most

    def fits(n: int) -> bool:
        work, end = n * before_tokens + n * (n + 1) / 2, before_tokens + n
        load = StepLoad(n_decodes, context_tokens, n, work, end, n_decodes)
        return _SAFETY * step_time.step_s(load) <= slack_s + SAME_MOMENT_S

    if most <= block_tokens or fits(most):
        return most
    fitting, beyond = 1, -(-most // block_tokens)  # blocks
    while beyond - fitting > 1:
        half = (fitting + beyond) // 2
        if fits(half * block_tokens):
            fitting = half
        else:
            beyond = half
    return fitting * block_tokens
