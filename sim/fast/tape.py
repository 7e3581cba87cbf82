"""What the fast engine writes down: packed rows by request, by run of steps and by run of gaps."""

from __future__ import annotations

import math
from dataclasses import fields
from struct import Struct

import numpy as np

from qtheory.system.workload.request import Requests
from sim.record import GapRuns, Records, Status, StepGaps, StepRuns

from .job import FastJob

__all__ = ["ENDED", "GAP", "RUN", "Tape", "gap_runs", "pack_gap", "pack_run"]

RUN = np.dtype(
    [
        ("start_s", "=f8"),
        ("end_s", "=f8"),
        ("decode_context_tokens", "=i8"),
        ("prefill_work", "=f8"),
        ("slope_s", "=f8"),
        ("n_steps", "=i4"),
        ("n_decodes", "=i4"),
        ("prefill_tokens", "=i4"),
        ("prefill_context_tokens", "=i4"),
        ("n_sampled", "=i4"),
        ("n_waiting", "=i4"),
        ("n_running", "=i4"),
        ("used_blocks", "=i4"),
    ]
)
"""A run of steps. From one of its steps to the next the gap between tokens grows by slope_s; where that is
NaN, the rows of `Tape.gaps` tell the gaps."""

GAP = np.dtype([("gap_s", "=f8"), ("slope_s", "=f8"), ("n_steps", "=i4"), ("n_tokens", "=i4")])
"""A run of gaps."""

ENDED = np.dtype(
    [
        ("sent_s", "=f8"),
        ("first_scheduled_s", "=f8"),
        ("first_token_s", "=f8"),
        ("finish_s", "=f8"),
        ("status", "=i4"),
        ("n_preemptions", "=i4"),
        ("recomputed_tokens", "=i4"),
    ]
)
"""A request that came to its end."""

pack_run = Struct("=2dq2d8i").pack
pack_gap = Struct("=2d2i").pack
_ENDED = Struct("=4d3i")
_UNSENT = _ENDED.pack(math.nan, math.nan, math.nan, math.nan, Status.UNFINISHED, 0, 0)


class Tape:
    """Everything is kept: a row `ENDED` at the place of each request, rows `RUN` and `GAP` as time goes.

    A tape ``beside`` another has its rows of requests in common with it, and runs and gaps of its own.
    """

    __slots__ = ("_rows", "gaps", "runs")

    def __init__(self, n: int, beside: Tape | None = None) -> None:
        self._rows: bytearray = bytearray(_UNSENT * n) if beside is None else beside._rows
        self.runs = bytearray()
        self.gaps = bytearray()

    def close(self, job: FastJob, status: int, at_s: float) -> None:
        """``job`` ended, or the clock did (then ``at_s`` is NaN)."""
        _ENDED.pack_into(
            self._rows,
            job.position * _ENDED.size,
            job.arrival_s,
            job.first_scheduled_s,
            job.first_token_s,
            at_s,
            status,
            job.n_preemptions,
            job.recomputed_tokens,
        )

    def records(self, requests: Requests, *, n_blocks: int, end_s: float) -> Records:
        """All of it, as arrays that share the memory of the rows."""
        rows, runs = np.frombuffer(self._rows, dtype=ENDED), np.frombuffer(self.runs, dtype=RUN)
        steps = StepRuns(**{item.name: runs[item.name] for item in fields(StepRuns)})
        return Records(
            requests=requests,
            **{name: rows[name] for name in ENDED.names or ()},
            cached_tokens=np.broadcast_to(np.int64(0), (len(requests),)),
            gaps=StepGaps(steps=steps, slope_s=runs["slope_s"], more=gap_runs(self.gaps)),
            steps=steps,
            n_blocks=n_blocks,
            end_s=end_s,
        )


def gap_runs(packed: bytes | bytearray) -> GapRuns:
    """Packed rows of `GAP` as columns."""
    gaps = np.frombuffer(packed, dtype=GAP)
    return GapRuns(
        gap_s=gaps["gap_s"], slope_s=gaps["slope_s"], n_steps=gaps["n_steps"], n_tokens=gaps["n_tokens"]
    )
