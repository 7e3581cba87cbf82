"""What the fast engine writes down if no records are kept: sums and histograms, in fixed memory."""

from __future__ import annotations

from dataclasses import fields
from struct import Struct
from typing import Any

import numpy as np

from qtheory.system import metrics
from qtheory.system.results import LATENCIES
from qtheory.system.slo import Slo
from qtheory.system.steptime import StepLoad
from sim.binding import waiting_shares
from sim.histogram import Histogram
from sim.policies import Policy
from sim.record import Status, StepGaps, StepRuns
from sim.summary import Peak

from .job import FastJob
from .tape import ENDED, RUN, gap_runs

__all__ = ["Meter"]

_ROW = np.dtype([*((name, ENDED[name]) for name in ENDED.names or ()), ("output_tokens", "=i8")])
_pack_row = Struct("=4d3iq").pack
_FLUSH_BYTES = 1 << 20
_LEVELS = (50, 90, 95, 99)
_WAITS = ("waits_for_slots_frac", "waits_for_budget_frac", "waits_for_memory_frac")


class Meter:
    """A `Tape` that forgets: rows are taken together every megabyte.

    Parameters
    ----------
    slo : Slo
        What makes a request good.
    peak : Peak or None
        Work of a load, for utilisation.
    policy : Policy
        Whose limits tell what requests wait for.
    """

    def __init__(self, slo: Slo, peak: Peak | None, policy: Policy) -> None:
        self.runs, self.gaps = bytearray(), bytearray()
        self._rows = bytearray()
        self._slo, self._peak, self._policy = slo, peak, policy
        self._times = {name: Histogram() for name in LATENCIES}
        self._sums: dict[str, float] = {}
        self._began_s, self._peak_blocks = float("inf"), 0

    def close(self, job: FastJob, status: int, at_s: float) -> None:
        """``job`` ended, or the clock did (then ``at_s`` is NaN)."""
        self._rows += _pack_row(
            job.arrival_s,
            job.first_scheduled_s,
            job.first_token_s,
            at_s,
            status,
            job.n_preemptions,
            job.recomputed_tokens,
            job.output_tokens,
        )
        if len(self._rows) + len(self.runs) + len(self.gaps) > _FLUSH_BYTES:
            self._flush()

    def _add(self, **values: Any) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(np.sum(value))

    def _flush(self) -> None:
        self._flush_requests(np.frombuffer(bytes(self._rows), dtype=_ROW))
        self._flush_runs(np.frombuffer(bytes(self.runs), dtype=RUN))
        for buffer in (self._rows, self.runs, self.gaps):
            buffer.clear()

    def _flush_requests(self, rows: np.ndarray[Any, Any]) -> None:
        finished = rows["status"] == Status.FINISHED
        ttft_s = rows["first_token_s"] - rows["sent_s"]
        e2e_s = np.where(finished, rows["finish_s"] - rows["sent_s"], np.nan)
        tpot_s = metrics.tpot_s(rows["first_token_s"], rows["finish_s"], rows["output_tokens"])
        times = {"ttft": ttft_s, "e2e": e2e_s, "tpot": np.where(finished, tpot_s, np.nan)}
        times["queue"] = rows["first_scheduled_s"] - rows["sent_s"]
        for name, values in times.items():
            self._times[name].add(values)
        good = metrics.good(self._slo, ttft_s=ttft_s, tpot_s=times["tpot"], e2e_s=e2e_s, finished=finished)
        sent_s, began_s, ended_s = rows["sent_s"], rows["first_scheduled_s"], rows["finish_s"]
        began, ended = ~np.isnan(began_s), ~np.isnan(ended_s)
        runs, waits = began & ~ended, ~began & ~ended  # when the clock was stopped
        self._add(
            good=good,
            output_tokens=rows["output_tokens"][finished],
            n_preemptions=rows["n_preemptions"],
            recomputed_tokens=rows["recomputed_tokens"],
            running_s=(ended_s - began_s)[began & ended],
            waiting_s=np.where(began, began_s, ended_s)[began | ended] - sent_s[began | ended],
            n_still_running=runs,
            still_running_since_s=began_s[runs],
            n_still_waiting=waits,
            still_waiting_since_s=sent_s[waits],
            **{status.name: rows["status"] == status for status in Status},
        )
        if len(rows):
            self._began_s = min(self._began_s, float(rows["sent_s"].min()))

    def _flush_runs(self, runs: np.ndarray[Any, Any]) -> None:
        busy_s = runs["end_s"] - runs["start_s"]
        decoded = runs["n_decodes"].astype(np.int64) * runs["n_steps"]
        steps = StepRuns(**{item.name: runs[item.name] for item in fields(StepRuns)})
        gaps = StepGaps(steps=steps, slope_s=runs["slope_s"], more=gap_runs(bytes(self.gaps)))
        for gap_s, n_tokens in gaps.in_parts():
            self._times["itl"].add(gap_s, n_tokens.astype(np.int64))
        self._add(**waiting_shares(steps, self._policy, span_s=1.0))
        self._add(
            busy_s=busy_s, tokens=decoded + runs["prefill_tokens"], block_s=runs["used_blocks"] * busy_s
        )
        self._peak_blocks = max(self._peak_blocks, int(runs["used_blocks"].max(initial=0)))
        if self._peak is not None:
            growth = runs["n_decodes"] * ((runs["n_steps"] - 1) / 2)
            columns: tuple[Any, ...] = (
                runs["n_decodes"],
                runs["decode_context_tokens"] + growth,
                runs["prefill_tokens"],
                runs["prefill_work"],
                runs["prefill_context_tokens"],
                runs["n_sampled"],
            )
            load = StepLoad(*columns)
            self._add(
                flops=self._peak.flops(load) * runs["n_steps"], bytes=self._peak.bytes(load) * runs["n_steps"]
            )

    def numbers(self, *, n_requests: int, n_blocks: int, end_s: float) -> dict[str, Any]:
        """The fields of a `RunResult` that a run decides."""
        self._flush()
        span_s = end_s - min(self._began_s, end_s)
        return self._counted(n_requests, span_s) | self._averaged(n_blocks, end_s, span_s) | self._timed()

    def _total(self, name: str) -> float:
        return self._sums.get(name, 0.0)

    def _counted(self, n: int, span_s: float) -> dict[str, Any]:
        ended = {name: int(self._total(name.upper())) for name in ("finished", "shed", "rejected", "aborted")}
        per_s = 1 / span_s if span_s > 0 else 0.0
        return {
            "n_requests": n,
            **{f"n_{name}": count for name, count in ended.items() if name != "aborted"},
            "n_unfinished": n - sum(ended.values()),
            "n_preemptions": int(self._total("n_preemptions")),
            "goodput_frac": self._total("good") / n if n else 0.0,
            "goodput_rps": self._total("good") * per_s,
            "throughput_rps": ended["finished"] * per_s,
            "output_tps": self._total("output_tokens") * per_s,
            "recomputed_frac": self._total("recomputed_tokens") / max(self._total("tokens"), 1.0),
        }

    def _averaged(self, n_blocks: int, end_s: float, span_s: float) -> dict[str, Any]:
        total, busy_s = self._total, self._total("busy_s")
        per_s = 1 / span_s if span_s > 0 else 0.0
        still_running_s = total("n_still_running") * end_s - total("still_running_since_s")
        still_waiting_s = total("n_still_waiting") * end_s - total("still_waiting_since_s")
        found: dict[str, Any] = {
            "makespan_s": span_s,
            "busy_frac": busy_s * per_s,
            "mean_running": (total("running_s") + still_running_s) * per_s,
            "mean_waiting": (total("waiting_s") + still_waiting_s) * per_s,
            "mean_kv_frac": total("block_s") * per_s / n_blocks,
            "peak_kv_frac": self._peak_blocks / n_blocks,
            "kv_blocks": n_blocks,
            **{name: total(name) * per_s for name in _WAITS},
            "mfu_frac": None,
            "mbu_frac": None,
        }
        if self._peak is not None and busy_s:
            found["mfu_frac"] = total("flops") / busy_s / self._peak.peak_flops_per_s
            found["mbu_frac"] = total("bytes") / busy_s / self._peak.peak_bytes_per_s
        return found

    def _timed(self) -> dict[str, float | None]:
        found: dict[str, float | None] = {
            "max_itl_s": self._times["itl"].max_s if self._times["itl"].n else None
        }
        for name, histogram in self._times.items():
            found[f"mean_{name}_s"] = histogram.mean_s
            found |= {f"p{level}_{name}_s": histogram.percentile(level) for level in _LEVELS}
        return found
