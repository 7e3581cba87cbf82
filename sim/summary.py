"""From the records of one run to its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qtheory.system import metrics
from qtheory.system.provenance import Provenance
from qtheory.system.results import RunResult
from qtheory.system.slo import Slo
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.request import Requests

from .binding import waiting_shares
from .histogram import Histogram
from .policies import Policy
from .record import GapRuns, Records, Status, StepGaps, StepRuns

__all__ = ["Peak", "columns", "summarize", "window_rows"]

Floats = NDArray[np.float64]
_LEVELS = (50, 90, 95, 99)
_NONE = (None,) * len(_LEVELS)
_MOST_EXACT_STEPS = 5_000_000
_STATUS = np.array([status.name.lower() for status in sorted(Status)], dtype=object)


class Peak(Protocol):
    """What utilisation is measured against: work of a load, and the datasheet's rates for one replica."""

    @property
    def peak_flops_per_s(self) -> float:
        """Dense peak of all accelerators of the replica."""
        ...

    @property
    def peak_bytes_per_s(self) -> float:
        """Memory bandwidth of all accelerators of the replica."""
        ...

    def flops(self, load: StepLoad) -> Any:
        """FLOP of a load; fields may be arrays."""
        ...

    def bytes(self, load: StepLoad) -> Any:
        """Bytes moved by a load; fields may be arrays."""
        ...


def columns(records: Records, slo: Slo) -> dict[str, NDArray[Any]]:
    """One row a request, in order of arrival: times in seconds, NaN where a moment never came.

    Parameters
    ----------
    records : Records
    slo : Slo
        The limits behind the column ``good``.

    Returns
    -------
    dict of arrays, each of shape (n,)
    """
    requests = records.requests
    ttft_s = records.first_token_s - records.sent_s
    finished = records.status == Status.FINISHED
    e2e_s = np.where(finished, records.finish_s - records.sent_s, np.nan)
    tpot_s = metrics.tpot_s(records.first_token_s, records.finish_s, requests.output_tokens)
    tpot_s = np.where(finished, tpot_s, np.nan)
    served_by = {} if records.replica is None else {"replica": records.replica}
    return {
        "request": np.arange(len(requests)),
        "arrival_s": requests.arrival_s,
        "sent_s": records.sent_s,
        "prompt_tokens": requests.prompt_tokens,
        "output_tokens": requests.output_tokens,
        "status": _STATUS[records.status],
        "queue_s": records.first_scheduled_s - records.sent_s,
        "ttft_s": ttft_s,
        "tpot_s": tpot_s,
        "e2e_s": e2e_s,
        "finish_s": records.finish_s,
        "good": _good(requests, slo, ttft_s=ttft_s, tpot_s=tpot_s, e2e_s=e2e_s, finished=finished),
        "n_preemptions": records.n_preemptions,
        "cached_tokens": records.cached_tokens,
        "recomputed_tokens": records.recomputed_tokens,
        **served_by,
    }


def _good(requests: Requests, slo: Slo, **seen: NDArray[Any]) -> NDArray[np.bool_]:
    """Served within the limits; where requests have their own, those stand for the ones of all."""
    if requests.tpot_slo_s is None or requests.ttft_slo_s is None:
        return metrics.good(slo, **seen)
    served: NDArray[np.bool_] = metrics.good(Slo(e2e_s=slo.e2e_s), **seen)
    return served & ~(seen["ttft_s"] > requests.ttft_slo_s) & ~(seen["tpot_s"] > requests.tpot_slo_s)


def _statistics(
    name: str, values: Floats, counts: NDArray[np.integer[Any]] | None = None
) -> dict[str, float | None]:
    seen = ~np.isnan(values)
    values = values[seen]
    weight = np.ones(len(values), dtype=np.int64) if counts is None else counts[seen]
    n = int(weight.sum())
    row: dict[str, float | None] = {f"mean_{name}_s": float(np.sum(values * weight)) / n if n else None}
    found: Sequence[float | None] = metrics.weighted_percentiles(values, weight, _LEVELS) or _NONE
    return row | dict(zip((f"p{level}_{name}_s" for level in _LEVELS), found, strict=True))


def _gap_statistics(gaps: GapRuns | StepGaps) -> tuple[dict[str, float | None], float | None]:
    """Statistics of all gaps and the longest; beyond some millions of steps percentiles within 0.05 %."""
    if gaps.n_gaps > _MOST_EXACT_STEPS:
        histogram = Histogram()
        for gap_s, n_tokens in gaps.in_parts():
            histogram.add(gap_s, n_tokens.astype(np.int64))
        found = {"mean_itl_s": histogram.mean_s}
        found |= {f"p{level}_itl_s": histogram.percentile(level) for level in _LEVELS}
        return found, histogram.max_s
    gap_s, n_tokens = gaps.expand()
    return _statistics("itl", gap_s, n_tokens), float(gap_s.max()) if len(gap_s) else None


def _mean_load(steps: StepRuns) -> StepLoad:
    """Load of the mean step of each run (the summed context grows by the decodes from step to step)."""
    growth = steps.n_decodes * ((steps.n_steps - 1) / 2)
    return StepLoad(
        steps.n_decodes,  # type: ignore[arg-type]
        steps.decode_context_tokens + growth,  # type: ignore[arg-type]
        steps.prefill_tokens,  # type: ignore[arg-type]
        steps.prefill_work,  # type: ignore[arg-type]
        steps.prefill_context_tokens,  # type: ignore[arg-type]
        steps.n_sampled,  # type: ignore[arg-type]
    )


def _utilisation(steps: StepRuns, peak: Peak | None) -> dict[str, float | None]:
    busy_s = float(np.sum(steps.end_s - steps.start_s))
    if peak is None or busy_s == 0:
        return {"mfu_frac": None, "mbu_frac": None}
    load = _mean_load(steps)
    return {
        "mfu_frac": float(np.sum(peak.flops(load) * steps.n_steps)) / busy_s / peak.peak_flops_per_s,
        "mbu_frac": float(np.sum(peak.bytes(load) * steps.n_steps)) / busy_s / peak.peak_bytes_per_s,
    }


def _occupancy(records: Records, span_s: float) -> dict[str, float]:
    """Time averages from the sojourns of the requests: Little's law, exact for a finite run."""
    end_s = np.where(np.isnan(records.finish_s), records.end_s, records.finish_s)
    began_s = np.where(np.isnan(records.first_scheduled_s), end_s, records.first_scheduled_s)
    sent = ~np.isnan(records.sent_s)
    steps, blocks = records.steps, max(records.n_blocks, 1)
    span_s = span_s or 1.0
    used = (
        np.sum(steps.used_blocks * (steps.end_s - steps.start_s)) / span_s
    )  # no BLAS: same bytes everywhere
    return {
        "mean_running": float(np.sum((end_s - began_s)[sent])) / span_s,
        "mean_waiting": float(np.sum((began_s - records.sent_s)[sent])) / span_s,
        "mean_kv_frac": float(used) / blocks,
        "peak_kv_frac": float(steps.used_blocks.max(initial=0)) / blocks,
    }


def _counts(records: Records, table: dict[str, NDArray[Any]], span_s: float) -> dict[str, Any]:
    """How the requests ended, their latencies, and rates over the span."""
    n, finished, steps = len(records.requests), records.status == Status.FINISHED, records.steps
    per_s = 1 / span_s if span_s > 0 else 0.0
    decoded = np.multiply(steps.n_decodes, steps.n_steps, dtype=np.int64)
    computed = int(steps.prefill_tokens.sum() + decoded.sum())
    itl, longest_s = _gap_statistics(records.gaps)
    n_good = int(table["good"].sum())
    numbers: dict[str, Any] = {
        "n_requests": n,
        "n_finished": int(finished.sum()),
        "n_shed": int((records.status == Status.SHED).sum()),
        "n_rejected": int((records.status == Status.REJECTED).sum()),
        "n_unfinished": int((records.status == Status.UNFINISHED).sum()),
        "goodput_frac": n_good / n if n else 0.0,
        "goodput_rps": n_good * per_s,
        "throughput_rps": int(finished.sum()) * per_s,
        "output_tps": int(records.requests.output_tokens[finished].sum()) * per_s,
        "max_itl_s": longest_s,
        "busy_frac": float(np.sum(steps.end_s - steps.start_s)) * per_s,
        "n_preemptions": int(records.n_preemptions.sum()),
        "recomputed_frac": int(records.recomputed_tokens.sum()) / computed if computed else 0.0,
    }
    for name in ("ttft", "tpot", "e2e", "queue"):
        numbers |= _statistics(name, table[f"{name}_s"])
    return numbers | itl


def _timeline(records: Records, n_windows: int) -> tuple[dict[str, float], ...]:
    """Averages over ``n_windows`` equal windows."""
    steps = records.steps
    if not n_windows or not len(steps.start_s):
        return ()
    edges = np.linspace(steps.start_s[0], steps.end_s[-1], n_windows + 1)
    return tuple(window_rows(steps, edges, n_blocks=records.n_blocks))


def window_rows(steps: StepRuns, edges: Floats, *, n_blocks: int) -> list[dict[str, float]]:
    """Averages over windows, from the runs of steps of one replica cut at the borders of the windows.

    Parameters
    ----------
    steps : StepRuns
        In the order of time, one after the other.
    edges : array of float, shape (m+1,)
        Borders of the windows, seconds.
    n_blocks : int
        Blocks of KV memory.
    """
    blocks = max(n_blocks, 1)
    shown = {
        "mean_waiting": steps.n_waiting,
        "mean_running": steps.n_running,
        "mean_kv_frac": steps.used_blocks / blocks,
        "busy_frac": np.ones(len(steps.start_s)),
        "prefill_tps": steps.prefill_tokens / np.maximum(steps.end_s - steps.start_s, 1e-300),
        "decode_tps": steps.n_decodes
        * (1.0 * steps.n_steps)
        / np.maximum(steps.end_s - steps.start_s, 1e-300),
    }
    rows: list[dict[str, float]] = []
    for low, high in pairwise(edges):
        first, last = np.searchsorted(steps.end_s, low), np.searchsorted(steps.start_s, high)
        part = slice(int(first), int(last))
        inside_s = np.minimum(steps.end_s[part], high) - np.maximum(steps.start_s[part], low)
        row = {"start_s": float(low), "end_s": float(high)}
        row |= {name: float(np.sum(value[part] * inside_s)) / (high - low) for name, value in shown.items()}
        rows.append(row)
    return rows


def summarize(
    records: Records,
    slo: Slo,
    *,
    scheduler: str,
    rate_rps: float,
    budget_tokens: int,
    policy: Policy | None = None,
    peak: Peak | None = None,
    n_windows: int = 0,
    speed: float | None = None,
    provenance: Provenance | None = None,
) -> RunResult:
    """Percentiles, goodput and utilisation of one run.

    Parameters
    ----------
    records : Records
    slo : Slo
    scheduler : str
        Name to be carried by the result.
    rate_rps : float
        Offered rate to be carried by the result.
    budget_tokens : int
        Token budget to be carried by the result.
    policy : Policy, optional
        Whose limits tell what waiting requests waited for; None leaves that out.
    peak : Peak, optional
        Gives MFU and MBU; None leaves them out.
    n_windows : int
        Windows of the timeline, 0 for none.
    speed : float, optional
        Of a replayed trace.
    provenance : Provenance, optional

    Returns
    -------
    RunResult
    """
    began_s = float(np.nanmin(records.sent_s, initial=records.end_s))
    span_s = records.end_s - began_s
    numbers: dict[str, Any] = _counts(records, columns(records, slo), span_s)
    numbers |= _utilisation(records.steps, peak) | _occupancy(records, span_s)
    if policy is not None:
        numbers |= waiting_shares(records.steps, policy, span_s=span_s)
    return RunResult(
        scheduler=scheduler,
        rate_rps=rate_rps,
        makespan_s=span_s,
        budget_tokens=budget_tokens,
        kv_blocks=records.n_blocks,
        speed=speed,
        timeline=_timeline(records, n_windows),
        provenance=provenance or Provenance(),
        **numbers,
    )
