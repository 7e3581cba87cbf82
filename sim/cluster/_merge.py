"""Steps and gaps of several replicas put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sim.record import GapRuns, Records, StepGaps, StepRuns

__all__ = ["merge_gaps", "merge_steps"]

T = TypeVar("T", GapRuns, StepRuns)


def _joined(kind: type[T], parts: Sequence[T]) -> T:
    columns = {
        item.name: np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(kind)
    }
    return kind(**columns)


def merge_steps(parts: Sequence[Records]) -> tuple[StepRuns, NDArray[np.int64]]:
    """All steps in the order of their starts, and which part each is of."""
    steps = _joined(StepRuns, [part.steps for part in parts])
    owner = np.repeat(np.arange(len(parts)), [len(part.steps.start_s) for part in parts])
    order = np.lexsort((owner, steps.start_s))
    ordered = {item.name: getattr(steps, item.name)[order] for item in fields(StepRuns)}
    return StepRuns(**ordered), owner[order]


def merge_gaps(parts: Sequence[Records]) -> GapRuns | StepGaps:
    """All gaps; those that steps tell stay with their steps."""
    more, steps, slopes = [], [], []
    for part in parts:
        gaps = part.gaps
        if isinstance(gaps, GapRuns):
            more.append(gaps)
            continue
        more.append(gaps.more)
        steps.append(gaps.steps)
        slopes.append(gaps.slope_s)
    others = _joined(GapRuns, more)
    if not steps:
        return others
    return StepGaps(steps=_joined(StepRuns, steps), slope_s=np.concatenate(slopes), more=others)
