"""A measured point run again by the simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica

from .engines import EngineSetting
from .points import Point
from .system import system_of

__all__ = ["PointTimes", "simulated"]

_SEED = 20261130


@dataclass(frozen=True, slots=True, kw_only=True)
class PointTimes:
    """Mean times of a run.

    Examples
    --------
    >>> PointTimes(ttft_s=0.1, tpot_s=0.01).ttft_s
    0.1
    """

    ttft_s: float
    tpot_s: float


def simulated(point: Point, setting: EngineSetting) -> PointTimes:
    """The times that the simulator gives for a point: all in flight begin together, as a load tool's do.

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
    >>> 0.016 < simulated(point, ENGINES["vllm"]).tpot_s < 0.022
    True
    """
    spec = system_of(point, setting)
    n = setting.rounds * point.in_flight
    outputs = _outputs(point.output_tokens, setting.output_spread, n)
    front_end_s = setting.front_end_s * point.prompt_tokens
    prompts = np.full(n, point.prompt_tokens)
    records = engine.simulate(
        Requests(arrival_s=np.zeros(n), prompt_tokens=prompts, output_tokens=outputs),
        make_policy(spec.scheduler),
        Replica(step_time=spec.step_time, n_blocks=spec.n_blocks, block_tokens=spec.block_tokens),
        client_cap=point.in_flight,
        think_s=front_end_s,
    )
    ttft_s = records.first_token_s - records.sent_s
    tpot_s = (records.finish_s - records.first_token_s) / (outputs - 1)
    return PointTimes(ttft_s=float(ttft_s.mean()) + front_end_s, tpot_s=float(tpot_s.mean()))


def _outputs(mean: int, spread: float, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Lengths of outputs, at least 2 so that each has a time per token."""
    rng = np.random.default_rng(_SEED)
    drawn = mean * (1 + spread * (2 * rng.random(n) - 1))
    return np.maximum(np.round(drawn), 2).astype(np.int64)
