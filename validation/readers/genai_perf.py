"""Exports of GenAI-Perf: summary tables, and the tables of ``analyze``."""

from __future__ import annotations

import csv
import io

from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, refuse_renamed, whole
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "genai-perf"
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_ASKED = "the export does not say how requests were sent; give --in-flight or --sent-rate"

_TIMES = ("Time To First Token (ms)", "Inter Token Latency (ms)", "Request Latency (ms)")


def fits(content: Content) -> bool:
    """One of the two exports."""
    return _is_summary(content) or _is_analysis(content)


def _is_summary(content: Content) -> bool:
    return content.columns[:2] == ("Metric", "avg")


def _is_analysis(content: Content) -> bool:
    return content.columns[:2] == ("Config Name", "Concurrency")


def points(content: Content) -> list[BenchPoint]:
    """A point a file, or one a row of an ``analyze`` table."""
    if _is_summary(content):
        return [_summary(content)]
    return _analysis(content)


def _blocks(content: Content) -> list[list[dict[str, str]]]:
    """Tables of the file, divided by blank lines."""
    parts = [part.strip() for part in content.text.replace("\r\n", "\n").split("\n\n") if part.strip()]
    blocks = []
    for part in parts:
        try:
            blocks.append(list(csv.DictReader(io.StringIO(part, newline=""), restval="")))
        except csv.Error as error:
            raise ConfigError(f"{content.name}: not CSV ({error}); check the quotes") from None
    if not blocks[0]:
        raise ConfigError(f"{content.name}: no rows below the header")
    return blocks


def _summary(content: Content) -> BenchPoint:
    blocks, where = _blocks(content), content.name
    if len(blocks) < 2:
        raise ConfigError(f"{where}: the second table (Metric,Value) is missing; is the file cut off?")
    rows = {row["Metric"]: row for row in blocks[0]}
    refuse_renamed(rows, _TIMES, where, known=["Time To Second Token (ms)"])
    single = {row.get("Metric", ""): row.get("Value", "") for row in blocks[1]}

    def times(name: str) -> dict[str, float]:
        row = rows.get(f"{name} (ms)", {})
        found = {ours: maybe(row, theirs, where) for ours, theirs in _columns().items()}
        return {ours: value / 1e3 for ours, value in found.items() if value}

    lengths = {
        side: need(
            rows.get(f"{side} Sequence Length (tokens)", {}), "avg", f"{where}: {side} Sequence Length"
        )
        for side in ("Input", "Output")
    }
    rate = next((name for name in single if name.startswith("Request Throughput")), "Request Throughput")
    n = need(single, "Request Count (count)", where, least=1)
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=None,
        n_completed=int(n),
        prompt_tokens=lengths["Input"],
        output_tokens=lengths["Output"],
        throughput_rps=need(single, rate, where),
        ttft_s=times("Time To First Token"),
        tpot_s=times("Inter Token Latency"),
        e2e_s=times("Request Latency"),
        notes=(_ASKED,),
    )


def _columns() -> dict[str, str]:
    return {"mean": "avg"} | {name: name for name in _SHARES}


def _analysis(content: Content) -> list[BenchPoint]:
    if not content.text.endswith("\n"):
        raise ConfigError(f"{content.name}: the last line has no end; is the file cut off?")
    made = []
    for i, row in enumerate(_blocks(content)[0], start=2):
        where = f"{content.name}: line {i}"
        rate = need(row, "Request Throughput (requests/sec)", where, least=1e-9)
        tokens = need(row, "Avg. Output Token Throughput (tokens/sec)", where)
        made.append(
            BenchPoint(
                where=where,
                tool=NAME,
                rate_rps=None,
                in_flight=whole(row, "Concurrency", where, least=1),
                n_completed=0,
                prompt_tokens=need(row, "ISL", where),
                output_tokens=tokens / rate,
                throughput_rps=rate,
                ttft_s={"p99": need(row, "p99 Time To First Token (ms)", where) / 1e3},
                tpot_s={"p99": need(row, "p99 Inter Token Latency (ms)", where) / 1e3},
                e2e_s={"p99": need(row, "p99 Request Latency (ms)", where) / 1e3},
                notes=("percentiles only; the table gives no means",),
            )
        )
    return made
