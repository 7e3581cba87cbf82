"""Below the limit for a while, from empty: how much of the queue of the steady state has come together."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ._astray import Astray
from ._fluid import Fluid
from ._steps import Rule
from .inputs import Engine
from .limits import Limit

__all__ = ["grown_frac", "still_growing"]

_MOMENTS = 400
_STEADY = 0.9


def grown_frac(units: float) -> float:
    r"""Mean of a reflected Brownian motion that begins at zero, averaged over a time, over its last mean.

    In units of variance over squared drift it is at time :math:`t` by then [1]_

    .. math:: H(t) = 1 - 2 (1 + t) \Phi(-\sqrt t) + 2 \sqrt t \, \varphi(\sqrt t)

    References
    ----------
    .. [1] Abate, Whitt (1987), "Transient behavior of regulated Brownian motion, I: starting at the origin",
       Advances in Applied Probability 19, 560-598.
    """
    roots = np.sqrt(units) * (np.arange(_MOMENTS) + 0.5) / _MOMENTS  # even in the root: steep at zero
    height = np.exp(-(roots**2) / 2) / np.sqrt(2 * np.pi)
    grown = 1 - 2 * (1 + roots**2) * ndtr(-roots) + 2 * roots * height
    return float((grown * roots).sum() / roots.sum())


def still_growing(engine: Engine, rule: Rule, limit: Limit, rate_rps: float, duration_s: float) -> str | None:
    """A note where a run from empty is far from the steady state at its rate, which is below the limit."""
    fluid = Fluid(engine=engine, rule=rule, limit=limit, rate_rps=rate_rps, duration_s=duration_s)
    unit_s = Astray(fluid).variance / (limit.rate_rps - rate_rps) ** 2
    grown = grown_frac(duration_s / unit_s)
    if grown >= _STEADY:
        return None
    return (
        f"steady state, and {duration_s:.4g} s from empty are no time to reach it: in the mean over them the "
        f"queue is some {100 * grown:.0f} % of it"
    )
