"""The log of a run of the reference engine, and its end as records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests

from .job import Job
from .record import GapRuns, Records, Status, StepRuns

__all__ = ["Log"]

_STATUS = {"shed": Status.SHED, "reject": Status.REJECTED, "abort": Status.ABORTED}


class Log:
    """Columns by request, rows by step and by gap."""

    def __init__(self, requests: Requests) -> None:
        n = len(requests)
        self._requests = requests
        self.sent_s = [math.nan] * n
        self.finish_s = [math.nan] * n
        self.status = [int(Status.UNFINISHED)] * n
        self._first_scheduled_s = [math.nan] * n
        self._first_token_s = [math.nan] * n
        self._n_preemptions = [0] * n
        self._cached = [0] * n
        self._recomputed = [0] * n
        self._steps: list[tuple[float, ...]] = []
        self._gaps: list[tuple[float, int]] = []
        self.n_step_tokens = 0
        self.n_job_tokens = 0

    def step(
        self,
        start_s: float,
        end_s: float,
        load: StepLoad,
        *,
        n_waiting: int,
        n_running: int,
        used_blocks: int,
    ) -> None:
        """One step, with queues and memory as they were after its scheduling pass."""
        self._steps.append((start_s, end_s, *load, n_waiting, n_running, used_blocks))
        self.n_step_tokens += load.n_decodes + load.prefill_tokens

    def gaps(self, end_s: float, last_token_s: Mapping[float, int]) -> None:
        """Tokens that came at ``end_s``, counted by the moment of their predecessors."""
        self._gaps += [(end_s - moment_s, n) for moment_s, n in last_token_s.items()]

    def close(self, job: Job, at_s: float, how: str) -> None:
        """``job`` ended: finished, shed, reject or abort."""
        self.status[job.position] = int(_STATUS.get(how, Status.FINISHED))
        self.finish_s[job.position] = at_s
        self.leave(job)

    def leave(self, job: Job) -> None:
        """Copy what is known of a job that ended or that is still inside at the end."""
        row = job.position
        self._first_scheduled_s[row] = job.first_scheduled_s
        self._first_token_s[row] = job.first_token_s
        self._n_preemptions[row] = job.n_preemptions
        self._cached[row] = job.cached_tokens
        self._recomputed[row] = job.recomputed_tokens
        self.n_job_tokens += job.total_computed_tokens

    def records(self, *, n_blocks: int, end_s: float) -> Records:
        """All of it, as arrays."""
        return Records(
            requests=self._requests,
            sent_s=np.array(self.sent_s),
            status=np.array(self.status, dtype=np.int64),
            first_scheduled_s=np.array(self._first_scheduled_s),
            first_token_s=np.array(self._first_token_s),
            finish_s=np.array(self.finish_s),
            n_preemptions=np.array(self._n_preemptions, dtype=np.int64),
            cached_tokens=np.array(self._cached, dtype=np.int64),
            recomputed_tokens=np.array(self._recomputed, dtype=np.int64),
            gaps=self._gap_runs(),
            steps=self._step_runs(),
            n_blocks=n_blocks,
            end_s=end_s,
        )

    def _gap_runs(self) -> GapRuns:
        m = len(self._gaps)
        return GapRuns(
            gap_s=_floats(gap_s for gap_s, _ in self._gaps),
            slope_s=np.zeros(m),
            n_steps=np.ones(m, dtype=np.int64),
            n_tokens=np.array([n for _, n in self._gaps], dtype=np.int64),
        )

    def _step_runs(self) -> StepRuns:
        table = np.array(self._steps, dtype=np.float64).reshape(-1, 11)  # (m, 11)

        def whole(column: int) -> NDArray[np.int64]:
            return table[:, column].astype(np.int64)

        return StepRuns(
            start_s=table[:, 0],
            end_s=table[:, 1],
            n_steps=np.ones(len(table), dtype=np.int64),
            n_decodes=whole(2),
            decode_context_tokens=whole(3),
            prefill_tokens=whole(4),
            prefill_work=table[:, 5],
            prefill_context_tokens=whole(6),
            n_sampled=whole(7),
            n_waiting=whole(8),
            n_running=whole(9),
            used_blocks=whole(10),
        )


def _floats(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)
