"""The answer of a server that works in steps, and its closed form without a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qtheory.numerics.clock import NO_TIME
from qtheory.queues.result import QueueResult

__all__ = ["StepServerResult", "without_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepServerResult(QueueResult):
    """Steady state of a server that works in steps.

    Parameters
    ----------
    capacity_rps : float
        Stable below this rate.
    throughput_rps : float
        Completed per second.
    prob_block : float
        Share of the arrivals that find no room.
    mean_running : float
        Time average of those in the batch.
    mean_time_per_step_s : float
        Mean time in the batch per unit of work: the mean step that customers see.
    var_number : float
        Variance of the number present.

    Examples
    --------
    >>> from qtheory.queues.multi import StepServer
    >>> steps = {"base_s": 0.02, "slope_s": 0.001, "mean_steps": 300}
    >>> answer = StepServer(rate_rps=3.0, **steps, max_running=32, capacity=64).solve()
    >>> print(f"{answer.throughput_rps:.4f} {answer.prob_block:.4f} {answer.mean_running:.3f}")
    2.0513 0.3162 32.000
    """

    capacity_rps: float
    throughput_rps: float
    prob_block: float
    mean_running: float
    mean_time_per_step_s: float
    var_number: float


def without_limit(rate_rps: float, base_s: float, slope_s: float, mean_steps: float) -> StepServerResult:
    """Negative binomial number present: shape base / slope + 1, load rate x mean_steps x slope < 1."""
    load, shape = rate_rps * mean_steps * slope_s, base_s / slope_s + 1.0
    mean = shape * load / (1.0 - load)
    log_empty = shape * math.log1p(-load)

    def pmf(n: int) -> float:
        if n < 0:
            return 0.0
        log_choose = math.lgamma(n + shape) - math.lgamma(shape) - math.lgamma(n + 1.0)
        return math.exp(log_choose + n * math.log(load) + log_empty)

    return StepServerResult(
        exactness="exact",
        route="negative binomial number present; too many states for the law of the response",
        utilization_frac=-math.expm1(log_empty),
        mean_wait_s=0.0,
        mean_response_s=mean / rate_rps,
        mean_number=mean,
        mean_queue=0.0,
        prob_wait=0.0,
        prob_empty=math.exp(log_empty),
        wait=NO_TIME,
        number_pmf=pmf,
        capacity_rps=1.0 / (mean_steps * slope_s),
        throughput_rps=rate_rps,
        prob_block=0.0,
        mean_running=mean,
        mean_time_per_step_s=mean / (rate_rps * mean_steps),
        var_number=mean / (1.0 - load),
    )
