"""A hash of how prompts begin against taking turns: eight accelerators under more than they can serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qtheory.basics.errors import ConfigError

from ._kubeai_served import ROUTERS, ServedThreads, served, threads
from ._tables import number, table
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_FILE = "benchmarks/kubeai_8xl4_load_balancing.csv"
_COLUMNS = (
    "request_rate_rps",
    "max_concurrency",
    "completed",
    "replicas",
    "in_tok_mean",
    "out_tok_mean",
    "req_tput_rps",
    "ttft_mean_ms",
    "tpot_mean_ms",
)
_HASH, _TURNS = "prefix_hash", "round_robin"
_RATE, _TTFT, _TPOT = 0.1, 0.25, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One run as measured."""

    router: str
    offered_rps: float
    cap: int
    n: int
    n_replicas: int
    prompt_tokens: float
    output_tokens: float
    measured: ServedThreads

    def again(self, slower: float, *, offered_rps: float | None = None) -> ServedThreads:
        """The same in the simulator, sent at its own rate or at another."""
        rate = offered_rps or self.offered_rps
        asked = threads(self.n, rate, self.prompt_tokens, self.output_tokens)
        return served(asked, self.router, self.n_replicas, self.cap, slower)


def _answer(folder: Path) -> Finding:
    rows, notes = _rows(folder)
    first = min((row for row in rows if row.router == _TURNS), key=lambda row: row.cap)
    slower = first.again(1.0).rate_rps / first.measured.rate_rps
    notes.append(f"steps take {slower:.2f} times those of the datasheet")
    plain = [(row, row.again(slower)) for row in rows if row.router != _HASH and row is not first]
    hashed = [row for row in rows if row.router == _HASH]
    followed = [(row, row.again(slower, offered_rps=row.measured.rate_rps)) for row in hashed]
    parts = []
    if plain:
        parts.append(_near("rate_rps", "served rate", plain, _RATE))
        parts.append(_near("ttft_s", "mean TTFT", plain, _TTFT))
        parts.append(_near("tpot_s", "mean TPOT", plain, _TPOT))
    parts += [_more(row, first, slower) for row in hashed if row.cap == first.cap]
    if followed:
        parts += [_soon(followed), _near("tpot_s", "mean TPOT at the served rate", followed, _TPOT)]
    points = [point for row, found in [*plain, *followed] for point in _points(row, found)]
    return Finding(parts=tuple(parts), points=tuple(points), notes=tuple(notes))


def _rows(folder: Path) -> tuple[list[_Row], list[str]]:
    path = folder / _FILE
    rows, others = [], []
    for line, row in enumerate(table(path, ("sweep_id", *_COLUMNS)), start=2):
        router = next((name for name in ROUTERS if row["sweep_id"].endswith(f"_{name}")), None)
        if router is None:
            others.append(row["sweep_id"])
            continue
        value = {name: number(row, name, f"{path}: line {line}") for name in _COLUMNS}
        if min(value.values()) <= 0:
            raise ConfigError(f"{path}: line {line}: {min(value, key=lambda name: value[name])}: must be > 0")
        rows.append(
            _Row(
                router=router,
                offered_rps=value["request_rate_rps"],
                cap=int(value["max_concurrency"]),
                n=int(value["completed"]),
                n_replicas=int(value["replicas"]),
                prompt_tokens=value["in_tok_mean"],
                output_tokens=value["out_tok_mean"],
                measured=ServedThreads(
                    rate_rps=value["req_tput_rps"],
                    ttft_s=value["ttft_mean_ms"] / 1e3,
                    tpot_s=value["tpot_mean_ms"] / 1e3,
                ),
            )
        )
    if not any(row.router == _TURNS for row in rows):
        raise ConfigError(f"{path}: no run whose sweep_id ends with {_TURNS}")
    notes = [f"left out, of other routers: {', '.join(dict.fromkeys(others))}"] if others else []
    return rows, notes


def _near(name: str, said: str, pairs: Sequence[tuple[_Row, ServedThreads]], most: float) -> Measured:
    off = [abs(getattr(found, name) / getattr(row.measured, name) - 1) for row, found in pairs]
    routers = ", ".join(dict.fromkeys(row.router for row, _ in pairs))
    return Measured(
        what=f"{routers}: {said} within {most:.0%}, in the median over {len(off)} runs",
        found=f"{np.median(off):.1%}",
        holds=bool(np.median(off) <= most),
    )


def _more(row: _Row, first: _Row, slower: float) -> Measured:
    """How many times the rate behind replicas in turn, with as many in flight."""
    measured = row.measured.rate_rps / first.measured.rate_rps
    found = row.again(slower).rate_rps / first.again(slower).rate_rps
    return Measured(
        what=f"{_HASH}, {row.cap} in flight: {measured:.2f} times the rate of {_TURNS}, within {_RATE:.0%}",
        found=f"{found:.2f}",
        holds=abs(found / measured - 1) <= _RATE,
    )


def _soon(followed: Sequence[tuple[_Row, ServedThreads]]) -> Measured:
    found = max(found.ttft_s for _, found in followed)
    measured = max(row.measured.ttft_s for row, _ in followed)
    return Measured(
        what=f"{_HASH}: at the served rate first tokens come within a second, as measured ({measured:.2f} s)",
        found=f"{found:.2f} s at most",
        holds=found < 1.0,
    )


def _points(row: _Row, found: ServedThreads) -> list[Compared]:
    return [
        Compared(
            what=f"{row.router}, {row.cap} in flight at most, {metric}",
            hardware="l4",
            engine="vLLM V1, 2025",
            metric=metric,
            route="simulation",
            setting="one factor on the datasheet",
            load="as served" if row.router == _HASH else "more than can be served",
            measured=measured,
            found=ours,
            unit=unit,
        )
        for metric, measured, ours, unit in (
            ("served rate", row.measured.rate_rps, found.rate_rps, "req/s"),
            ("mean TTFT", row.measured.ttft_s, found.ttft_s, "s"),
            ("mean TPOT", row.measured.tpot_s, found.tpot_s, "s"),
        )
    ]


CLAIM = Claim(
    name="kubeai-routing",
    question="Does following how prompts begin serve as many more threads, and as soon, as was measured?",
    source="substratusai/kubeai, docs/benchmarks/prefix-aware-load-balancing, benchmarks/chat-py: 8 L4 with "
    "Llama-3.1-8B in 8 bits, 8,000 prompts of 800 threads of 16 messages or more",
    calibrated="one factor on the datasheet of the L4, by the rate of replicas in turn, fewest in flight; "
    "threads are ten growing prompts with the stated means of tokens",
    teaches="memory for keys and values is less than is said, threads are longer, or the client sends late",
    answer=_answer,
    needs=(_FILE,),
)
