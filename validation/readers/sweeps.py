"""Tables with an operating point a row: the common sweep columns, and closed-loop serving points."""

from __future__ import annotations

import math

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .content import Content, maybe, need, refuse_renamed
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "sweep table"
_LOADS = ("open_rate", "closed_concurrency", "offline")
_SWEEP = {"sweep_id", "load", "in_tok_mean", "out_tok_mean"}
_SERVING = {"isl", "osl", "concurrency", "silicon_ttft_ms", "silicon_tpot_ms"}
_READ = (
    *(f"{name}_mean_ms" for name in ("ttft", "tpot", "itl", "e2e")),
    *("request_rate_rps", "achieved_rate_rps", "req_tput_rps", "max_concurrency", "arrival_cv"),
    *("completed", "failed", "tpot_from_e2e_ms", "out_tok_requested"),
)
_SHARES = ("mean", "p50", "p90", "p95", "p99")
_HALVED = 0.75  # of the TPOT that E2E tells: below it the tool counts two chunks a token
_SENT = 0.95  # of the rate that was asked for


def fits(content: Content) -> bool:
    """A table with the columns of one of the two."""
    return set(content.columns) >= _SWEEP or set(content.columns) >= _SERVING


def points(content: Content) -> list[BenchPoint]:
    """A point a row."""
    is_sweep = set(content.columns) >= _SWEEP
    if is_sweep:
        refuse_renamed(content.columns, _READ, content.name)
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
    cap, got = maybe(row, "max_concurrency", where), maybe(row, "req_tput_rps", where)
    prompts = maybe(row, "in_tok_mean", where)
    n = int(maybe(row, "completed", where) or 0)
    tpot, itl, notes = _token_times(row, where)
    cv, told = _arrival_cv(row, where)
    rate = {"open_rate": sent, "closed_concurrency": None, "offline": math.inf}[row["load"]]
    return BenchPoint(
        where=where,
        tool=NAME,
        rate_rps=rate,
        arrival_cv=cv,
        in_flight=int(cap or 0),
        n_completed=n,
        n_failed=int(maybe(row, "failed", where) or 0),
        duration_s=n / got if n and got else maybe(row, "duration_s", where),
        prompt_tokens=math.nan if prompts is None else prompts,
        output_tokens=maybe(row, "out_tok_requested", where) or need(row, "out_tok_mean", where),
        throughput_rps=got,
        ttft_s=_times(row, "ttft", where),
        tpot_s=tpot,
        itl_s=itl,
        e2e_s=_times(row, "e2e", where),
        notes=(*notes, *told, *_notes(row, where)),
    )


def _token_times(row: dict[str, str], where: str) -> tuple[dict[str, float], dict[str, float], list[str]]:
    """TPOT, ITL and what was put right: the column that is made from E2E goes before the tool's own."""
    derived, own, itl = (
        maybe(row, "tpot_from_e2e_ms", where),
        _times(row, "tpot", where),
        _times(row, "itl", where),
    )
    if derived:
        notes = ["tpot_mean_ms counts two stream chunks a token; TPOT is tpot_from_e2e_ms"]
        return {"mean": derived / 1e3}, itl, notes if _is_halved(row, where) else []
    if own or "mean" not in itl:
        return own, itl, []
    return {"mean": itl["mean"]}, itl, ["TPOT is the mean inter-token latency: nothing else is given"]


def _is_halved(row: dict[str, str], where: str) -> bool:
    derived, own = maybe(row, "tpot_from_e2e_ms", where), maybe(row, "tpot_mean_ms", where)
    return bool(derived and own and own < _HALVED * derived)


def _arrival_cv(row: dict[str, str], where: str) -> tuple[float, list[str]]:
    """As the column says, but for the tool whose constant load has random gaps, scaled to its length."""
    cv = maybe(row, "arrival_cv", where)
    if cv == 0 and _is_halved(row, where):
        told = "arrival_cv is taken as 1, not 0: the tool that halves TPOT sends with random gaps, rescaled"
        return 1.0, [told]
    return (1.0 if cv is None else cv), []


def _notes(row: dict[str, str], where: str) -> list[str]:
    rate, sent = maybe(row, "request_rate_rps", where), maybe(row, "achieved_rate_rps", where)
    asked, counted = maybe(row, "out_tok_requested", where), maybe(row, "out_tok_mean", where)
    notes = []
    if rate and sent and sent < _SENT * rate:
        notes.append(f"the client sent {sent:.3g} of {rate:.3g} req/s: its own limit, not the server's")
    if asked and counted and counted < asked:
        notes.append("outputs are as long as was asked for; the client counted its text again, and less")
    if any(word in row.get("notes", "") for word in ("shared", "prefix cache", "multi_turn")):
        notes.append("prompts share what they begin with: if a prefix cache had it, give --prompt without it")
    return notes


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
