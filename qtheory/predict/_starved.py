"""Shortest outputs first above the limit: those that are served for ever, and those that wait for ever."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ._steps import Rule
from .demand import Demand
from .inputs import Engine
from .limits import Limit, limit_of

__all__ = ["Served", "served_part"]

Floats = NDArray[np.float64]

_LEAST = 2.0**-16
"""Shares that are served are whole numbers of these, no less than one, and below the limit."""
_CLOSE = 0.01


@dataclass(frozen=True, kw_only=True, eq=False)
class Served:
    """Requests with outputs up to a length, as if no others came."""

    share: float  # of all requests
    engine: Engine
    limit: Limit  # of them alone

    @property
    def gap_s(self) -> float:
        """Mean gap between tokens while there is always somebody to serve, by Little's law."""
        tokens_rps = self.limit.rate_rps * max(self.engine.demand.mean_decode, 1e-9)
        return self.limit.running / tokens_rps


def served_part(engine: Engine, rule: Rule, rate_rps: float) -> Served:
    r"""The shortest outputs that are served at a rate above the limit.

    Who is served before all others of longer outputs sees nothing of these but the step that is under way.
    So the classes up to a length :math:`x` have a steady state of their own while
    :math:`\lambda F(x) < \mu(x)`, the limit of requests no longer than that [1]_; the others wait for ever.
    As the long ones go, so do most of the decodes: :math:`\mu(x)` is larger than the limit of all.

    References
    ----------
    .. [1] Cobham (1954), "Priority assignment in waiting line problems", Operations Research 2, 70-76: the
       wait of a class is finite if the load of this class and those before it is below 1.
    """
    whole = _up_to(engine, rule, 1.0)

    def excess_rps(share: float) -> float:
        return rate_rps * share - _up_to(engine, rule, share).limit.rate_rps

    if whole.limit.rate_rps >= rate_rps or excess_rps(_LEAST) >= 0:
        return whole
    share = float(brentq(excess_rps, _LEAST, 1.0, xtol=_CLOSE * _LEAST))
    return _up_to(engine, rule, max(math.floor(share / _LEAST), 1) * _LEAST)


def _up_to(engine: Engine, rule: Rule, share: float) -> Served:
    """The shortest outputs, so many of all; of the requests with the longest of these a part."""
    part = replace(engine, demand=_shortest(engine.demand, share))
    return Served(share=share, engine=part, limit=limit_of(part, rule))


def _shortest(demand: Demand, share: float) -> Demand:
    """The demand of the ``share`` of the requests with the shortest outputs, drawn from all arrivals."""
    order = np.argsort(demand.decode_steps)
    steps, probs = demand.decode_steps[order], demand.decode_probs[order]
    before = np.cumsum(probs) - probs
    kept = np.clip(share - before, 0.0, probs)
    some = kept > 0
    steps, kept, prompts = steps[some], kept[some] / kept.sum(), demand.prompt_given_decode[order][some]
    mean_prompt = float(kept @ prompts)
    longer = mean_prompt / float(demand.decode_probs @ demand.prompt_given_decode)
    following, slow = demand.following, demand.slow_burstiness
    return replace(
        demand,
        prompt_tokens=demand.prompt_tokens * longer,
        decode_steps=steps,
        decode_probs=kept,
        prompt_decode=float(kept @ (steps * prompts)),
        paired_prompts=prompts,
        burstiness=_thinned(demand.burstiness, share),
        slow_burstiness=None if slow is None else _thinned(slow, share),
        following=None if following is None else lambda times_s: share * following(times_s),
    )


def _thinned(dispersion: float, share: float) -> float:
    """Index of dispersion of arrivals of which each is kept with the same probability."""
    return 1 + share * (dispersion - 1)
