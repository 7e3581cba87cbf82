"""How bursty arrivals are within a time: what a batch of the same variability would hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from qtheory.system.workload import GammaArrivals, MmppArrivals, OpenArrivals

from ._drafts import mean_field
from ._meeting import moments_apart
from ._steps import Rule
from .inputs import Engine

__all__ = ["Following", "batches_like", "burstiness_within", "bursts_of", "within_queue"]

Floats = NDArray[np.float64]

_MOST = 4000
_SHORTEST, _LONGEST, _N_TIMES = 1e-6, 100.0, 72  # mean gaps
_N_APART = 24  # times between requests that run
_ROUNDS = 12
_MOST_BUSY = 0.98
_SUMS = np.unique(np.round(np.geomspace(1.0, 3e5, 900)))  # all small n; between the others terms are a line
_GAPS = np.diff(_SUMS)
_WEIGHTS = (np.append(1.0, _GAPS) + np.append(_GAPS, 1.0)) / 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Following:
    """Mean number of requests, beyond those of the mean rate, that follow a request within a time."""

    arrivals: OpenArrivals
    rate_rps: float

    def __call__(self, times_s: Floats) -> Floats:
        places = np.log(np.maximum(times_s, 1e-300) * self.rate_rps)
        return np.asarray(np.where(times_s > 0, np.interp(places, *self.table), 0.0))

    @cached_property
    def table(self) -> tuple[Floats, Floats]:
        """Logarithms of times in mean gaps, and who follows within them."""
        gaps = np.geomspace(_SHORTEST, _LONGEST, _N_TIMES)
        within = [burstiness_within(self.arrivals, self.rate_rps, gap / self.rate_rps) for gap in gaps]
        return np.log(gaps), (np.array(within) - 1) / 2


def bursts_of(
    arrivals: OpenArrivals, engine: Engine, rate_rps: float, limit_rps: float, *, mixed: bool
) -> tuple[float, float]:
    r"""Index of dispersion while prompts queue, and while requests run.

    What a queue of load :math:`\rho` and mean service :math:`s` sees of the arrivals are those of a time
    :math:`x = s (I(x) + c^2) \rho^2 / 2 (1 - \rho)^2`, where :math:`I` is their index of dispersion and
    :math:`c^2` that of the work of a request. What runs is as variable as those make it that come while it is
    there [2]_.

    References
    ----------
    .. [1] Whitt and You (2018), "Using robust queueing to expose the impact of dependence in single-server
       queues", Operations Research 66, 184-199.
    .. [2] Eckberg (1983), "Generalized peakedness of teletraffic processes", 10th International Teletraffic
       Congress, Montreal.
    """
    demand = engine.demand
    n, gap_s = mean_field(engine, Rule(mixed=mixed), rate_rps)
    if mixed:  # prompts queue for what decodes leave, so for the whole
        room = max(engine.budget_tokens - n, 1.0)
        each_s = engine.step_s(min(room, demand.mean_prompt), n) * max(demand.mean_prompt / room, 1.0)
        busy = rate_rps * each_s
    else:  # prompts go before decodes, so only for prompts
        each_s = engine.step_s(demand.mean_prompt, 0.0)
        busy = rate_rps * each_s
    busy = min(busy, _MOST_BUSY)
    varies = demand.prompt_moment(2) / demand.mean_prompt**2 - 1
    if isinstance(arrivals, GammaArrivals) and arrivals.scv > 1:
        queueing = batches_like(arrivals.scv, busy)
    else:
        queueing = within_queue(arrivals, rate_rps, each_s, varies, busy)
    steps, weights = moments_apart(demand)
    nodes = np.geomspace(steps[0], steps[-1], _N_APART)
    within = [burstiness_within(arrivals, rate_rps, each * gap_s) for each in nodes.tolist()]
    return queueing, max(float(weights @ np.interp(np.log(steps), np.log(nodes), within)), queueing)


def batches_like(scv: float, busy: float) -> float:
    r"""Index of dispersion of batches that wait as long in the mean as gamma gaps, before equal services.

    The mean wait of GI/D/1 is :math:`\sum_n E[(n s-A_n)^+]/n` with the gamma law of the sum of n gaps [1]_,
    that of batches :math:`s(\rho+I-1)/2(1-\rho)`, since they wait for others of their own as well.

    References
    ----------
    .. [1] Spitzer (1956), "A combinatorial lemma and its application to probability theory", Transactions of
       the American Mathematical Society 82, 323-339.
    """
    n = _SUMS
    shape = n / scv  # of n gaps; the mean gap is 1, and a service takes ``busy``
    ahead = busy * gammainc(shape, n * busy / scv) - gammainc(shape + 1, n * busy / scv)  # over n
    wait = float(np.maximum(ahead, 0.0) @ _WEIGHTS) / busy
    return max(1 - busy + 2 * (1 - busy) * wait, 1.0)


def within_queue(arrivals: OpenArrivals, rate_rps: float, each_s: float, varies: float, busy: float) -> float:
    """Index of dispersion within the time that a queue of this load remembers."""
    window_s, found = each_s, 1.0
    for _ in range(_ROUNDS):
        found = burstiness_within(arrivals, rate_rps, window_s)
        window_s = each_s * (1 + (found + varies) * busy**2 / (2 * (1 - busy) ** 2))
    return found


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
