"""The server of llm-inferno: two service-time models, one chain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.numerics.roots import bracketed_root
from qtheory.queues.multi import StepServer

from ._answers import given

__all__ = ["Answer", "Server"]

_NEARLY_ALL = 0.999  # the code looks for rates up to this share of the capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the code prints: milliseconds and requests per second.

    Parameters
    ----------
    throughput_rps, max_rate_rps : float
        Completed per second; 0.999 of the rate of a full batch.
    response_ms, wait_ms, ttft_ms, itl_ms : float
        Means.
    mean_running : float
        Requests in service.
    """

    throughput_rps: float
    response_ms: float
    wait_ms: float
    mean_running: float
    ttft_ms: float
    itl_ms: float
    max_rate_rps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server and its mean request, prefill in one chunk.

    Parameters
    ----------
    base_ms, compute_ms, memory_ms : float
        alpha, beta (a token), gamma (a token squared).
    prompt_tokens, output_tokens : int
        n and m.
    batch, queue : int
        Most in service, most waiting.
    first_version : bool
        Whether a request's own tokens count twice, as they did at first.
    """

    base_ms: float
    compute_ms: float
    memory_ms: float
    prompt_tokens: int
    output_tokens: int
    batch: int
    queue: int = 128
    first_version: bool = False

    @property
    def prefill_ms(self) -> float:
        """w_p, the own work of a prefill."""
        return (self.compute_ms + self.memory_ms) * self.prompt_tokens

    @property
    def decode_ms(self) -> float:
        """w_d, the own work of all decode steps."""
        m = self.output_tokens
        half = m / 2 if self.first_version else (m + 1) / 2
        return m * (self.compute_ms + self.memory_ms * (self.prompt_tokens + half))

    @property
    def slope_ms(self) -> float:
        """What one more request in the batch adds to a step."""
        n, m = self.prompt_tokens, self.output_tokens
        if self.first_version:
            return self.compute_ms * (n + m) / (m + 1) + self.memory_ms * (n + m / 2)
        return (self.prefill_ms + self.decode_ms) / (1 + m)

    def itl_alone_ms(self) -> float:
        """Decode step of a request that is alone."""
        return self.base_ms + self.decode_ms / self.output_tokens

    def step_server(self, rate_rps: float) -> StepServer:
        """The queue at this rate: 1 + m steps a request."""
        steps = 1 + self.output_tokens
        own_ms = (self.prefill_ms + self.decode_ms) / steps if self.first_version else 0.0
        return StepServer(
            rate_rps=rate_rps,
            base_s=1e-3 * (self.base_ms + own_ms),
            slope_s=1e-3 * self.slope_ms,
            mean_steps=steps,
            max_running=self.batch,
            capacity=self.batch + self.queue,
        )

    def solve(self, rate_rps: float) -> Answer:
        """The answer at a rate: chain, then TTFT and ITL at the mean batch."""
        queue = self.step_server(rate_rps)
        answer = queue.solve()
        wait_ms, response_ms = 1e3 * given(answer.mean_wait_s), 1e3 * given(answer.mean_response_s)
        others = answer.mean_running - (0.0 if self.first_version else 1.0)
        prefill_ms = self.base_ms + others * self.slope_ms + self.prefill_ms
        itl_ms = (response_ms - wait_ms - prefill_ms) / self.output_tokens
        return Answer(
            throughput_rps=answer.throughput_rps,
            response_ms=response_ms,
            wait_ms=wait_ms,
            mean_running=answer.mean_running,
            ttft_ms=wait_ms + prefill_ms + itl_ms,
            itl_ms=itl_ms,
            max_rate_rps=_NEARLY_ALL * queue.capacity_rps,
        )

    def rate_for(self, *, ttft_ms: float = math.inf, itl_ms: float = math.inf) -> float:
        """Largest rate within both targets, up to the largest rate at all; 0 if there is none."""
        most = _NEARLY_ALL * self.step_server(1.0).capacity_rps
        least = 1e-3 * self.step_server(1.0).capacity_rps

        def excess(rate_rps: NDArray[np.float64], which: NDArray[np.intp]) -> NDArray[np.float64]:
            answers = [self.solve(float(rate)) for rate in rate_rps]
            return np.array([max(a.ttft_ms / ttft_ms, a.itl_ms / itl_ms) - 1.0 for a in answers])

        nothing = np.zeros(1, dtype=np.intp)
        if float(excess(np.array([least]), nothing)[0]) > 0:
            return 0.0
        if float(excess(np.array([most]), nothing)[0]) <= 0:
            return most
        return float(bracketed_root(excess, least, most, rtol=1e-10))
