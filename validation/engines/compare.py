"""Two records of the same run, compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.record import GapRuns, Records, StepGaps, StepRuns, unrolled

__all__ = ["differences"]

_RTOL, _ATOL_S = 1e-9, 1e-7  # sums of step times in two orders differ by rounding alone
_MOMENTS = ("sent_s", "first_scheduled_s", "first_token_s", "finish_s")
_COUNTS = ("status", "n_preemptions", "cached_tokens", "recomputed_tokens")


def _expanded(steps: StepRuns) -> dict[str, NDArray[np.float64]]:
    """One row a step, sorted as they are: runs unrolled, their end times left out."""
    run, offset = unrolled(steps.n_steps)
    rows = {
        name: np.asarray(getattr(steps, name), dtype=float)[run]
        for name in ("n_decodes", "prefill_tokens", "prefill_work", "prefill_context_tokens", "n_sampled")
    }
    context = np.asarray(steps.decode_context_tokens, dtype=float)[run]
    rows["decode_context_tokens"] = context + offset * rows["n_decodes"]
    return rows


def _starts(steps: StepRuns) -> NDArray[np.int64]:
    """Number of the step with which each run starts."""
    n_steps = np.asarray(steps.n_steps, dtype=np.int64)
    return np.cumsum(n_steps) - n_steps


def _sorted_gaps(gaps: GapRuns | StepGaps) -> tuple[NDArray[np.float64], int]:
    gap_s, n_tokens = gaps.expand()
    return np.sort(np.repeat(gap_s, n_tokens)), int(n_tokens.sum())


def differences(one: Records, other: Records) -> list[str]:
    """What differs between two records of the same requests; empty if they are equal up to rounding.

    Parameters
    ----------
    one, other : Records

    Returns
    -------
    list of str
        One line a quantity, with the first row that differs.
    """
    found: list[str] = []

    def compare(name: str, a: NDArray[np.float64], b: NDArray[np.float64], atol: float) -> None:
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if a.shape != b.shape:
            found.append(f"{name}: {len(a)} rows against {len(b)}")
            return
        same = np.isclose(a, b, rtol=_RTOL, atol=atol, equal_nan=True)
        if not same.all():
            row = int(np.argmin(same))
            found.append(f"{name}: row {row}: {a[row]:.9g} against {b[row]:.9g}")

    for name in _MOMENTS:
        compare(name, getattr(one, name), getattr(other, name), _ATOL_S)
    for name in _COUNTS:
        compare(name, getattr(one, name), getattr(other, name), 0.0)
    compare("end_s", np.array([one.end_s]), np.array([other.end_s]), _ATOL_S)
    (gaps_a, n_a), (gaps_b, n_b) = _sorted_gaps(one.gaps), _sorted_gaps(other.gaps)
    if n_a != n_b:
        found.append(f"gaps: {n_a} tokens against {n_b}")
    else:
        compare("gaps", gaps_a, gaps_b, _ATOL_S)
    steps_a, steps_b = _expanded(one.steps), _expanded(other.steps)
    for name in steps_a:
        compare(f"steps.{name}", steps_a[name], steps_b[name], 1e-6)
    _, at_a, at_b = np.intersect1d(_starts(one.steps), _starts(other.steps), return_indices=True)
    for name in ("n_waiting", "n_running", "used_blocks", "start_s"):
        a, b = getattr(one.steps, name)[at_a], getattr(other.steps, name)[at_b]
        compare(f"steps.{name}", a, b, _ATOL_S)
    return found
