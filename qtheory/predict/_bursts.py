"""How bursty arrivals are within a time: what a batch of the same variability would hold."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammainc

from qtheory.system.workload import GammaArrivals, MmppArrivals, OpenArrivals

from ._drafts import mean_field
from ._steps import Rule
from .inputs import Engine

__all__ = ["burstiness_within", "bursts_of"]

_MOST = 4000
_ROUNDS = 12
_MOST_BUSY = 0.98


def bursts_of(
    arrivals: OpenArrivals, engine: Engine, rate_rps: float, limit_rps: float, *, mixed: bool
) -> tuple[float, float]:
    r"""Index of dispersion while prompts queue, and while requests run.

    What a queue of load :math:`\rho` and mean service :math:`s` sees of the arrivals are those of a time
    :math:`x = s (I(x) + c^2) \rho^2 / 2 (1 - \rho)^2`, where :math:`I` is their index of dispersion and
    :math:`c^2` that of the work of a request. A request that runs sees those of its own stay.

    References
    ----------
    .. [1] Whitt and You (2018), "Using robust queueing to expose the impact of dependence in single-server
       queues", Operations Research 66, 184-199.
    """
    demand = engine.demand
    n, gap_s = mean_field(engine, Rule(mixed=mixed), rate_rps)
    if mixed:  # prompts queue for what decodes leave, so for the whole
        room = max(engine.budget_tokens - n, 1.0)
        each_s = engine.step_s(min(room, demand.mean_prompt), n) * max(demand.mean_prompt / room, 1.0)
        busy = max(rate_rps * each_s, rate_rps / limit_rps)
    else:  # prompts go before decodes, so only for prompts
        each_s = engine.step_s(demand.mean_prompt, 0.0)
        busy = rate_rps * each_s
    busy = min(busy, _MOST_BUSY)
    varies = demand.prompt_moment(2) / demand.mean_prompt**2 - 1
    window_s, queueing = each_s, 1.0
    for _ in range(_ROUNDS):
        queueing = burstiness_within(arrivals, rate_rps, window_s)
        window_s = each_s * (1 + (queueing + varies) * busy**2 / (2 * (1 - busy) ** 2))
    stay_s = demand.mean_decode * gap_s
    return queueing, max(burstiness_within(arrivals, rate_rps, stay_s), queueing)


def burstiness_within(arrivals: OpenArrivals, rate_rps: float, window_s: float) -> float:
    """Index of dispersion of batches as large as what comes within a window of an arrival.

    In a long time it is that of the arrivals. For gamma gaps the mean number that follows an arrival within
    t is the renewal function, the sum of P(n gaps <= t); what it has beyond rate times t is the rest of the
    batch.
    """
    if isinstance(arrivals, MmppArrivals):
        return arrivals.dispersion(rate_rps, window_s)
    whole = arrivals.dispersion(rate_rps)
    if not isinstance(arrivals, GammaArrivals) or arrivals.scv <= 1:
        return whole
    shape = 1 / arrivals.scv
    expected = rate_rps * window_s
    if expected > _MOST * shape / 4:
        return whole
    events = expected * shape  # of the Poisson process each 1 / shape-th of which is a renewal
    n = np.arange(1, min(_MOST, math.ceil((events + 10 * math.sqrt(events) + 40) / shape)))
    excess = float(gammainc(n * shape, expected * shape).sum()) - expected
    return 1 + 2 * min(max(excess, 0.0), (whole - 1) / 2)
