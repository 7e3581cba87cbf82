"""What is waited for at the limit: the budget, a place, or each of them at times."""

from __future__ import annotations

from scipy.special import gammainc

from .inputs import Engine

__all__ = ["place_share"]


def place_share(engine: Engine) -> float:
    r"""Share of the time in which more would run than there are places, if prompts always spent the budget.

    Then :math:`n=dB/(s+d)` requests run in the mean, moved about by a diffusion with a gamma law [1]_: with
    each step as many prompts begin as the budget :math:`B` holds, and each request ends with the probability
    :math:`1/d`. Places bind in the part of the law beyond the last of them. So 0 is a limit by the budget
    alone and 1 one by places, and nothing jumps where a mix of lengths goes from one to the other. For memory
    the law is that of the tokens held, in mean contexts; for slots that of the number.

    References
    ----------
    .. [1] Karlin and Taylor (1981), "A second course in stochastic processes", chapter 15.
    """
    demand, whole = engine.demand, engine.demand.mean_prompt + engine.demand.mean_decode
    n = demand.mean_decode * engine.budget_tokens / whole
    each, square = demand.mean_prompt, demand.prompt_moment(2)
    if engine.is_kv_limited:
        each, square = demand.mean_context, square + 2 * demand.prompt_decode + demand.decode_moment(2)
    rate = 2 * whole * each / square
    return 1 - float(gammainc(rate * n, rate * engine.slots)) if n > 0 else 0.0
