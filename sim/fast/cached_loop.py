"""The loop of the fast engine with a prefix cache, and what it writes down."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any, cast

import numpy as np

from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests
from sim.policies import Policy
from sim.record import Records
from sim.summary import Peak

from .cached import CachedState
from .fill import Filling
from .job import FastJob
from .loop import Loop
from .meter import Meter
from .state import State
from .tape import Tape

__all__ = ["CachedLoop", "CachedMeter", "CachedTape"]


class CachedTape(Tape):
    """A tape that also says how much of each prompt was found."""

    __slots__ = ("_cached",)

    def __init__(self, n: int, beside: CachedTape | None = None) -> None:
        super().__init__(n, beside)
        self._cached: array[int] = array("q", bytes(8 * n)) if beside is None else beside._cached

    def close(self, job: FastJob, status: int, at_s: float) -> None:
        """``job`` ended, or the clock did (then ``at_s`` is NaN)."""
        super().close(job, status, at_s)
        self._cached[job.position] = job.cached_tokens

    def records(self, requests: Requests, *, n_blocks: int, end_s: float) -> Records:
        """All of it, as arrays that share the memory of the rows."""
        found = super().records(requests, n_blocks=n_blocks, end_s=end_s)
        return replace(found, cached_tokens=np.frombuffer(self._cached, dtype=np.int64))


class CachedMeter(Meter):
    """A meter that also says how much of the prompts was found."""

    def __init__(self, slo: Slo, peak: Peak | None, policy: Policy) -> None:
        super().__init__(slo, peak, policy)
        self._n_asked = self._n_cached = 0

    def close(self, job: FastJob, status: int, at_s: float) -> None:
        """``job`` ended, or the clock did (then ``at_s`` is NaN)."""
        super().close(job, status, at_s)
        if job.rank:  # it was let in
            self._n_asked += job.prompt_tokens
            self._n_cached += job.cached_tokens

    def numbers(self, *, n_requests: int, n_blocks: int, end_s: float) -> dict[str, Any]:
        """The fields of a `RunResult` that a run decides."""
        found = super().numbers(n_requests=n_requests, n_blocks=n_blocks, end_s=end_s)
        share = self._n_cached / self._n_asked if self._n_asked else 0.0
        return found | {"cached_tokens": self._n_cached, "cached_frac": share}


class CachedLoop(Loop):
    """A loop that publishes what its steps compute."""

    __slots__ = ("_at_end", "_cached")

    def __init__(self, state: State, fill: Filling, until_s: float) -> None:
        super().__init__(state, fill, until_s)
        self._cached = cast(CachedState, state)
        self._at_end = state.policy.cache_commit == "step_end"

    def _step(self, n: int) -> bool:
        state = self._cached
        if not self._at_end:
            for job, _ in state.chunks:
                if job.node is not None and job.n_listed < job.node.end:
                    state.publish_plan(decodes=n > 0)
                    state.cache.ahead = 0
                    break
        if not super()._step(n):
            return False
        if self._at_end:
            for job in state.unfinished():
                state.publish(job)
        return True

    def _sample(self, job: FastJob, end_s: float) -> None:
        if self._at_end:
            self._cached.publish(job)
        super()._sample(job, end_s)

    def _finish(self, job: FastJob, end_s: float) -> None:
        state = self._cached
        state.finish(job)
        if state.reserves:
            state.unpromise(job)
        self._close(job, 0, end_s)  # Status.FINISHED
        if state.tells_ends:
            state.inflow.place_free(end_s, job.position)

    def _steps_ahead(self, k: int, first_s: float, slope_s: float) -> int:
        state = self._cached
        if state.may_admit():
            k = min(k, state.steady_steps())
        return super()._steps_ahead(k, first_s, slope_s)
