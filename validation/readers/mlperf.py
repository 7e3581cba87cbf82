"""MLPerf Inference summaries (``mlperf_log_summary.txt``): name and value a line, nanoseconds."""

from __future__ import annotations

import math
import re

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, refuse_renamed
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "mlperf"
_HEAD, _TAIL = "MLPerf Results Summary", r"errors? encountered"
_MEANS = ("Mean latency (ns)", "Mean First Token latency (ns)", "Mean Time to Output Token (ns)")
_SHARES = {"p50": "50.00", "p90": "90.00", "p95": "95.00", "p99": "99.00"}


def fits(content: Content) -> bool:
    """Text with the heading of these summaries."""
    return content.data is None and _HEAD in content.text[:400]


def points(content: Content) -> list[BenchPoint]:
    """The point that was certified. It tells no prompt lengths: those are of the data set."""
    where = content.name
    if not re.search(_TAIL, content.text, re.IGNORECASE):
        raise ConfigError(f"{where}: its last line (how many errors there were) is missing; is it cut off?")
    values = dict(_pairs(content.text))
    refuse_renamed(values, _MEANS, where)
    scenario, seconds = values.get("Scenario", ""), 1e-9
    samples = maybe(values, "Completed samples per second", where) or maybe(
        values, "Samples per second", where
    )
    tokens = maybe(values, "Completed tokens per second", where) or maybe(values, "Tokens per second", where)
    if not samples or not tokens:
        raise ConfigError(f"{where}: Completed samples per second, Completed tokens per second: missing")
    is_valid = "INVALID" not in values.get("Result is", "VALID")

    def times(mean: str, percentile: str) -> dict[str, float]:
        names = {"mean": f"Mean {mean} (ns)"}
        names |= {p: f"{q} percentile {percentile} (ns)" for p, q in _SHARES.items()}
        found = {ours: maybe(values, name, where) for ours, name in names.items()}
        return {ours: value * seconds for ours, value in found.items() if value}

    is_offline = scenario == "Offline"
    return [
        BenchPoint(
            where=where,
            tool=NAME,
            rate_rps=math.inf if is_offline else need(values, "Scheduled samples per second", where),
            n_completed=int(maybe(values, "min_query_count", where) or 0),
            prompt_tokens=math.nan,
            output_tokens=tokens / samples,
            throughput_rps=samples,
            ttft_s=times("First Token latency", "first token latency"),
            tpot_s=times("Time to Output Token", "time to output token"),
            e2e_s=times("latency", "latency"),
            notes=(() if is_valid else ("the result is INVALID",))
            + ("prompt lengths are those of the data set; give --prompt",),
        )
    ]


def _pairs(text: str) -> list[tuple[str, str]]:
    found = re.findall(r"^\s*([^:\n]+?)\s*:\s*(.+?)\s*$", text, flags=re.MULTILINE)
    return [(str(name), str(value)) for name, value in found]
