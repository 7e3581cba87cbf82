"""Tables with an operating point a row: the common sweep columns, and closed-loop serving points."""

from __future__ import annotations

import math

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "sweep table"
_LOADS = ("open_rate", "closed_concurrency", "offline")
_SWEEP = {"sweep_id", "load", "in_tok_mean", "out_tok_mean"}
_SERVING = {"isl", "osl", "concurrency", "silicon_ttft_ms", "silicon_tpot_ms"}
_SHARES = ("mean", "p50", "p90", "p95", "p99")


def fits(content: Content) -> bool:
    """A table with the columns of one of the two."""
    return set(content.columns) >= _SWEEP or set(content.columns) >= _SERVING


def points(content: Content) -> list[BenchPoint]:
    """A point a row."""
    is_sweep = set(content.columns) >= _SWEEP
    made = []
    for i, row in enumerate(content.rows(), start=2):
        where = f"{content.name}: line {i}"
        made.append(_sweep(row, where) if is_sweep else _serving(row, where))
    return made


def _times(row: dict[str, str], name: str, where: str) -> dict[str, float]:
    found = {share: maybe(row, f"{name}_{share}_ms", where) for share in _SHARES}
    return {share: value / 1e3 for share, value in found.items() if value}


def _sweep(row: dict[str, str], where: str) -> BenchPoint:
    checks.one_of(f"{where}: load", row["load"], _LOADS)
    sent = maybe(row, "achieved_rate_rps", where) or maybe(row, "request_rate_rps", where)
    if row["load"] == "open_rate" and sent is None:
        raise ConfigError(f"{where}: request_rate_rps: missing; an open load has a rate")
    derived = maybe(row, "tpot_from_e2e_ms", where)
    tpot = {"mean": derived / 1e3} if derived else _times(row, "tpot", where)
    outputs = maybe(row, "out_tok_requested", where) or need(row, "out_tok_mean", where)
    itl, notes = _times(row, "itl", where), []
    if not tpot and "mean" in itl:
        tpot = {"mean": itl["mean"]}
        notes.append("TPOT is the mean inter-token latency: nothing else is given")
    cv = maybe(row, "arrival_cv", where)
    cap = maybe(row, "max_concurrency", where)
    rate = {"open_rate": sent, "closed_concurrency": None, "offline": math.inf}[row["load"]]
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=rate,
        arrival_cv=1.0 if cv is None else cv,
        in_flight=int(cap or 0),
        n_completed=int(maybe(row, "completed", where) or 0),
        n_failed=int(maybe(row, "failed", where) or 0),
        duration_s=maybe(row, "duration_s", where),
        prompt_tokens=need(row, "in_tok_mean", where),
        output_tokens=outputs,
        throughput_rps=maybe(row, "req_tput_rps", where),
        ttft_s=_times(row, "ttft", where),
        tpot_s=tpot,
        itl_s=itl,
        e2e_s=_times(row, "e2e", where),
        notes=tuple(notes),
    )


def _serving(row: dict[str, str], where: str) -> BenchPoint:
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=None,
        in_flight=int(need(row, "concurrency", where, least=1)),
        n_completed=0,
        prompt_tokens=need(row, "isl", where),
        output_tokens=need(row, "osl", where),
        ttft_s={"mean": need(row, "silicon_ttft_ms", where) / 1e3},
        tpot_s={"mean": need(row, "silicon_tpot_ms", where) / 1e3},
    )
