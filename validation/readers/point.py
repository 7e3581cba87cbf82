"""What a benchmark says, whatever tool wrote it: an operating point, or the requests of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["BenchPoint", "EngineRun"]

Times = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPoint:
    """One measured operating point. All times in seconds; what a tool does not say is None or left out.

    Parameters
    ----------
    where : str
        File and place in it.
    tool : str
        Format that it was read from.
    rate_rps : float or None
        Rate at which requests were sent; None in a closed loop, infinite where all were sent at once.
    arrival_cv : float
        Coefficient of variation of the intervals: 1 Poisson, 0 even.
    in_flight : int
        Requests in flight at the client at most, 0 for no cap.
    n_completed, n_failed : int
        Requests.
    duration_s : float or None
        From the first request to the last answer.
    prompt_tokens, output_tokens : float
        Means of the completed requests.
    throughput_rps : float or None
        Completed requests per second.
    ttft_s, tpot_s, itl_s, e2e_s : mapping of str to float
        By statistic (``mean``, ``p50``, ``p90``, ``p95``, ``p99``). TPOT is (E2E - TTFT) / (outputs - 1).
    notes : tuple of str
        What was corrected while reading.
    """

    where: str
    tool: str
    rate_rps: float | None
    n_completed: int
    prompt_tokens: float
    output_tokens: float
    arrival_cv: float = 1.0
    in_flight: int = 0
    n_failed: int = 0
    duration_s: float | None = None
    throughput_rps: float | None = None
    ttft_s: Times = field(default_factory=dict)
    tpot_s: Times = field(default_factory=dict)
    itl_s: Times = field(default_factory=dict)
    e2e_s: Times = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def load(self) -> str:
        """``open``, ``closed`` or ``offline``."""
        if self.rate_rps is None:
            return "closed"
        return "offline" if self.rate_rps == float("inf") else "open"

    def line(self) -> str:
        """One line of text."""
        sent = {
            "open": f"{self.rate_rps:g} req/s" if self.rate_rps is not None else "",
            "closed": f"{self.in_flight} in flight",
            "offline": "all at once",
        }[self.load]
        times = ", ".join(
            f"{name} {1e3 * values['mean']:.1f} ms"
            for name, values in (("TTFT", self.ttft_s), ("TPOT", self.tpot_s))
            if "mean" in values
        )
        lengths = f"{self.prompt_tokens:.0f} in, {self.output_tokens:.0f} out"
        return f"{self.where}: {sent}, {self.n_completed} requests, {lengths}: {times or 'no times'}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineRun:
    """Requests of one run of an engine, one element a request, in order of arrival; seconds from its start.

    Parameters
    ----------
    where : str
        File.
    arrival_s, scheduled_s, first_token_s, last_token_s : array
        Moments on the engine's clock.
    prompt_tokens, output_tokens : array of int
        Lengths.
    notes : tuple of str
        What was corrected while reading.
    """

    where: str
    arrival_s: NDArray[np.float64]
    scheduled_s: NDArray[np.float64]
    first_token_s: NDArray[np.float64]
    last_token_s: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    notes: tuple[str, ...] = ()
