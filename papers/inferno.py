"""llm-inferno (Ramani, Tantawi): a server whose service rate depends on how many it serves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ._inferno_search import SEARCHES, Search
from ._inferno_server import Answer, Server
from .table import Row, Table

__all__ = ["tables"]

NOW = Server(base_ms=12.0, compute_ms=0.05, memory_ms=0.0005, prompt_tokens=128, output_tokens=512, batch=48)
FIRST = replace(NOW, first_version=True)
_LABELS = {
    "throughput_rps": "throughput, 1/s",
    "response_ms": "mean response, ms",
    "wait_ms": "mean wait, ms",
    "mean_running": "mean in service",
    "ttft_ms": "mean TTFT, ms",
    "itl_ms": "mean ITL, ms",
    "max_rate_rps": "largest rate, 1/s",
}
# Their numbers have 32 bits: a time is good to about 4e-7 of itself, and the wait, a difference of two times
# near 10,000 ms, to the thousandths of a millisecond that are lost there.
_WITHIN = {"response_ms": 0.004, "wait_ms": 0.001, "ttft_ms": 0.001, "mean_running": 5e-5, "itl_ms": 5e-5}
_OF_RATE = 1e-5


def _printed(where: str, answer: Answer, said: dict[str, str]) -> list[Row]:
    """Rows against what the public code prints."""
    return [
        Row(
            case=f"{where}: {_LABELS[name]}",
            source=value,
            ours=getattr(answer, name),
            origin="code",
            within=_WITHIN.get(name, _OF_RATE),
        )
        for name, value in said.items()
    ]


def _first() -> Table:
    """The worked example of the first version, whose answers its description prints."""
    said = {
        "response_ms": "10568.446",
        "wait_ms": "28.27539",
        "mean_running": "31.620514",
        "ttft_ms": "75.31746",
        "itl_ms": "20.534498",
        "max_rate_rps": "3.8208232",
    }
    rows = _printed("3/s", FIRST.solve(3.0), said)
    said = {
        "response_ms": "10276.054",
        "wait_ms": "10.09375",
        "mean_running": "29.505493",
        "ttft_ms": "56.063286",
        "itl_ms": "19.99998",
    }
    rows += _printed("2.8741095/s", FIRST.solve(2.8741095), said)
    for case, value, ours in (
        ("TTFT 60 ms: rate, 1/s", "2.910594", FIRST.rate_for(ttft_ms=60.0)),
        ("ITL 20 ms: rate, 1/s", "2.8741095", FIRST.rate_for(itl_ms=20.0)),
    ):
        rows.append(Row(case=case, source=value, ours=ours, origin="code", within=_OF_RATE))
    return Table(name="first-version", rows=tuple(rows))


def _now() -> Table:
    """The same with the present service time, and the batch that the authors choose for two targets."""
    said = {
        "wait_ms": "21.41",
        "ttft_ms": "67.61",
        "itl_ms": "20.12",
        "response_ms": "10348",
        "mean_running": "30.98",
        "max_rate_rps": "3.8609",
    }
    answer = NOW.solve(3.0)
    rows = [
        Row(case=f"3/s: {_LABELS[name]}", source=value, ours=getattr(answer, name), origin="recomputed")
        for name, value in said.items()
    ]
    for case, value, ours in (
        ("TTFT 60 ms: rate, 1/s", "2.9495", NOW.rate_for(ttft_ms=60.0)),
        ("ITL 20 ms: rate, 1/s", "2.9720", NOW.rate_for(itl_ms=20.0)),
    ):
        rows.append(Row(case=case, source=value, ours=ours, origin="recomputed"))
    said = {
        "throughput_rps": "2.9715836",
        "response_ms": "10277.985",
        "wait_ms": "12.017578",
        "mean_running": "30.50618",
        "ttft_ms": "57.9873",
        "itl_ms": "19.999996",
        "max_rate_rps": "3.9003835",
    }
    server = replace(NOW, batch=49)
    rows += _printed("batch 49, both targets", server.solve(server.rate_for(ttft_ms=60.0, itl_ms=20.0)), said)
    both = Search(name="", server=NOW, itl_ms=20.0, ttft_ms=60.0)
    for case, value, batch in (
        ("batch by ITL 20 ms alone", "31", both.found_by_itl()),
        ("batch by a prefill within 60 ms", "164", both.found_by_prefill()),
    ):
        rows.append(Row(case=case, source=value, ours=batch, origin="code", within=0))
    return Table(name="present", rows=tuple(rows))


def _of_search(search: Search) -> Iterator[Row]:
    by_itl = search.found_by_itl()
    closed = ((search.by_itl, "ITL", by_itl), (search.by_prefill, "prefill", search.found_by_prefill()))
    for value, what, ours in closed:
        yield Row(case=f"{search.name}: batch by {what}", source=value, ours=ours, origin="printed", within=0)
    peak_rps = search.peak_at(int(search.onset))
    if search.name == "TTFT only":  # flat: any batch from about here on
        share = 100.0 * peak_rps / search.peak_at(256)
        yield Row(
            case=f"{search.name}: throughput at 92, % of that at 256",
            source="100.00",
            ours=share,
            origin="printed",
        )
    else:
        yield Row(
            case=f"{search.name}: batch of the peak",
            source=search.onset,
            ours=search.found_onset(),
            origin="printed",
            within=0,
        )
    short = 100.0 * (1.0 - search.peak_at(by_itl) / peak_rps)
    yield Row(
        case=f"{search.name}: peak missed by the first, %",
        source=search.short_percent,
        ours=short,
        origin="printed",
    )
    if search.peak_rps is not None:
        yield Row(
            case=f"{search.name}: peak, 1/s",
            source=search.peak_rps,
            ours=peak_rps,
            origin="printed" if search.name != "baseline" else "code",
            within=2e-6 if search.name == "baseline" else None,
        )


def tables() -> tuple[Table, ...]:
    """The example in both versions, and six scenarios for the number in service."""
    rows = tuple(row for search in SEARCHES for row in _of_search(search))
    return _first(), _now(), Table(name="batch", rows=rows)
