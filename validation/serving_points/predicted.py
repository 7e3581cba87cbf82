"""A measured point by theory: a herd that starts together, and disperses as its outputs differ."""

from __future__ import annotations

import math

from qtheory.predict import predict_closed_loop
from qtheory.system.replica import ReplicaSpec
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.from_scenario import workload_of

from .engines import EngineSetting
from .points import Point
from .simulated import PointTimes
from .system import scenario_of, system_of

__all__ = ["predicted"]


def predicted(point: Point, setting: EngineSetting) -> PointTimes:
    r"""Approximation: mean times of a finite run that a fixed number of clients begin at one moment.

    The first prompts come in one burst: the budget takes them in passes, and their mean TTFT is that of their
    places. If outputs are all alike and prompts go first, the herd comes back together each time, and every
    round is like the first; decodes of those served early wait for the rest.

    If outputs are spread evenly over :math:`1 \pm h` times their mean, the herd that left within the burst
    :math:`T` comes back in round :math:`k` within :math:`w_k = \sqrt{T^2 + k (2 h D)^2}`, where :math:`D` is
    the time of all decodes. Within it the prompts' load is :math:`\rho_k = T / w_k`; steps that carry what
    arrived during the step before grow to :math:`L_k = L / (1 - \rho_k)`, and a prompt waits half of one for
    its own: TTFT is :math:`3 L_k / 2` and the time of a prompt, or that of the steady closed network if that
    is longer. TPOT is that of the closed network. No constant is fitted.

    Parameters
    ----------
    point : Point
        The load, and what serves it.
    setting : EngineSetting
        How its engine serves.

    Raises
    ------
    ConfigError
        If the model does not fit into the memory of the accelerators.

    Examples
    --------
    >>> from .engines import ENGINES
    >>> point = Point(line=2, engine="vllm", model="qwen3-32b", hardware="h100", tp=2, prompt_tokens=1024,
    ...     output_tokens=128, in_flight=8, ttft_s=0.154, tpot_s=0.018)
    >>> 0.14 < predicted(point, ENGINES["vllm"]).ttft_s < 0.19
    True
    """
    spec = system_of(point, setting)
    burst_s, mean_s = _burst(point, spec)
    if setting.output_spread == 0 and setting.scheduler == "fcfs":
        step_s = _decode_s(point, spec)
        return PointTimes(ttft_s=mean_s, tpot_s=step_s + (burst_s - mean_s) / (point.output_tokens - 1))
    front_end_s = setting.front_end_s * point.prompt_tokens
    steady = predict_closed_loop(
        spec, workload_of(scenario_of(point, setting)), concurrency=point.in_flight, think_s=front_end_s
    )
    own_s, tpot_s = float(steady.mean_ttft_s or 0.0), float(steady.mean_tpot_s or 0.0)
    spread_s = 2 * setting.output_spread * tpot_s * (point.output_tokens - 1)
    total_s = mean_s
    for k in range(1, setting.rounds):
        window_s = math.hypot(burst_s, math.sqrt(k) * spread_s)
        idle = 1 - burst_s / window_s
        step_s = min(_decode_s(point, spec) / idle, burst_s) if idle > 0 else burst_s
        total_s += max(own_s, 1.5 * step_s + burst_s / point.in_flight)
    return PointTimes(ttft_s=total_s / setting.rounds + front_end_s, tpot_s=tpot_s)


def _burst(point: Point, spec: ReplicaSpec) -> tuple[float, float]:
    """Seconds until all prompts of a burst are done, and until one of them is, in the mean."""
    each = max(spec.budget_tokens // point.prompt_tokens, 1)
    at_s = total_s = 0.0
    left = point.in_flight
    while left:
        n = min(each, left)
        at_s += _prompts_s(n, point.prompt_tokens, spec)
        total_s += n * at_s
        left -= n
    return at_s, total_s / point.in_flight


def _prompts_s(n: int, tokens: int, spec: ReplicaSpec) -> float:
    """Seconds of a pass of whole prompts; a longer one than the budget is cut, which costs little more."""
    return spec.step_time.step_s(
        StepLoad(
            prefill_tokens=n * tokens,
            prefill_work=n * tokens * (tokens + 1) / 2,
            prefill_context_tokens=n * tokens,
            n_sampled=n,
        )
    )


def _decode_s(point: Point, spec: ReplicaSpec) -> float:
    """Seconds of a step in which all requests in flight decode, at half of their outputs."""
    context = point.prompt_tokens + point.output_tokens // 2 + 1
    n = point.in_flight
    return spec.step_time.step_s(StepLoad(n_decodes=n, decode_context_tokens=n * context, n_sampled=n))
