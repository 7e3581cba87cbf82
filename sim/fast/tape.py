"""What the fast engine writes down, in packed columns."""

from __future__ import annotations

import math
from array import array
from dataclasses import fields
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from qtheory.system.workload.request import Requests
from sim.record import GapRuns, Records, Status, StepRuns

__all__ = ["GAP", "RUN", "Tape", "pack_gap", "pack_run"]


RUN = np.dtype(
    [
        ("start_s", "=f8"),
        ("end_s", "=f8"),
        ("decode_context_tokens", "=i8"),
        ("prefill_work", "=f8"),
        ("gap_s", "=f8"),
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
"""A run of steps. In its step i the decodes follow their last tokens after gap_s + i slope_s; where gap_s is
negative, the rows of `Tape.gaps` tell instead."""

GAP = np.dtype([("gap_s", "=f8"), ("slope_s", "=f8"), ("n_steps", "=i4"), ("n_tokens", "=i4")])
"""A run of gaps."""

pack_run = Struct("=2dq3d8i").pack
pack_gap = Struct("=2d2i").pack


def _filled(kind: str, value: float, n: int) -> array[float]:
    return array(kind, [value]) * n


class Tape:
    """Columns by request, packed rows by run of steps (`RUN`) and by run of gaps (`GAP`)."""

    __slots__ = (
        "finish_s",
        "first_scheduled_s",
        "first_token_s",
        "gaps",
        "n_preemptions",
        "recomputed_tokens",
        "runs",
        "sent_s",
        "status",
    )

    def __init__(self, n: int) -> None:
        self.sent_s = _filled("d", math.nan, n)
        self.first_scheduled_s = _filled("d", math.nan, n)
        self.first_token_s = _filled("d", math.nan, n)
        self.finish_s = _filled("d", math.nan, n)
        self.status = _filled("b", Status.UNFINISHED, n)
        self.n_preemptions = _filled("i", 0, n)
        self.recomputed_tokens = _filled("i", 0, n)
        self.runs = bytearray()
        self.gaps = bytearray()

    def records(self, requests: Requests, *, n_blocks: int, end_s: float) -> Records:
        """All of it, as arrays that share the memory of the columns."""
        runs = np.frombuffer(self.runs, dtype=RUN)
        return Records(
            requests=requests,
            sent_s=_floats(self.sent_s),
            status=_wholes(self.status, np.int8),
            first_scheduled_s=_floats(self.first_scheduled_s),
            first_token_s=_floats(self.first_token_s),
            finish_s=_floats(self.finish_s),
            n_preemptions=_wholes(self.n_preemptions, np.int32),
            cached_tokens=np.broadcast_to(np.int64(0), (len(requests),)),
            recomputed_tokens=_wholes(self.recomputed_tokens, np.int32),
            gaps=_gap_runs(runs, np.frombuffer(self.gaps, dtype=GAP)),
            steps=StepRuns(**{item.name: runs[item.name] for item in fields(StepRuns)}),
            n_blocks=n_blocks,
            end_s=end_s,
        )


def _gap_runs(runs: NDArray[np.void], gaps: NDArray[np.void]) -> GapRuns:
    told = np.flatnonzero(runs["gap_s"] >= 0)  # (m,) runs of steps that say their gaps themselves
    return GapRuns(
        gap_s=np.concatenate([runs["gap_s"][told], gaps["gap_s"]]),
        slope_s=np.concatenate([runs["slope_s"][told], gaps["slope_s"]]),
        n_steps=np.concatenate([runs["n_steps"][told], gaps["n_steps"]]),
        n_tokens=np.concatenate([runs["n_decodes"][told], gaps["n_tokens"]]),
    )


def _floats(column: array[float]) -> NDArray[np.float64]:
    return np.frombuffer(column) if column else np.empty(0)


def _wholes(column: array[float], kind: type[np.integer]) -> NDArray[np.integer]:
    return np.frombuffer(column, dtype=kind) if column else np.empty(0, dtype=kind)
