"""Measured passes of Sarathi-Serve: what chunks and decodes beside a prompt cost, from whole prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.hardware.fitted import efficiencies_of
from qtheory.system.models import find_model
from qtheory.system.steptime import StepLoad
from qtheory.system.steptime.fit import StepFit

from ._pass_loads import Machine, chunk, decodes, prompts
from ._tables import number, table
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

PASSES = "sarathi/yi34b_tp2_a100pcie_iteration_times.csv"
CHUNKS = "sarathi/yi34b_tp2_a100pcie_chunking_overhead.csv"
_FEW = 4
_CONTEXT_TOKENS = 1024  # is not stated
_SAME, _RATIO, _POINTS, _DECODES = 0.05, 0.10, 0.10, 0.25
_SETTING = "two numbers, on whole prompts"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    kind: str
    prompt: int
    n: int
    seconds: float

    @property
    def load(self) -> StepLoad:
        own = prompts(self.prompt) if self.prompt else StepLoad()
        beside = decodes(self.n, _CONTEXT_TOKENS)
        return own._replace(
            n_decodes=self.n,
            decode_context_tokens=beside.decode_context_tokens,
            n_sampled=own.n_sampled + self.n,
        )


def _answer(folder: Path) -> Finding:
    rows = _passes(folder)
    machine = Machine(hardware=find_hardware("a100-80gb-pcie"), model=find_model("yi-34b"), tp=2)
    alone = [row for row in rows if row.kind == "prefill"]
    whole = [row for row in alone if not _was_slowed(row, alone)]
    others = [row for row in rows if row.kind != "prefill"]
    efficiencies = efficiencies_of(machine.hardware.name, "sarathi")
    if efficiencies is None:
        raise ConfigError("fitted.csv: no row of sarathi on this card")
    names = ("mbu_frac", "attention_mbu_frac", "link_frac")
    held = {name: float(getattr(efficiencies, name)) for name in names}
    fit = _told(machine, whole, held)
    found = dict(zip(others, machine.seconds(fit, [row.load for row in others]), strict=True))
    points = [
        _compared(f"{row.kind}, {row.prompt} prompt tokens and {row.n} decodes", row.seconds, float(seconds))
        for row, seconds in found.items()
    ]
    part, chunked = _chunked(folder, machine, fit)
    slowed = ", ".join(str(row.prompt) for row in alone if row not in whole)
    notes = (
        f"told by {len(whole)} whole prompts: {_said(fit)}",
        f"left out, as a longer prompt took less: {slowed or 'none'}; with all {len(alone)}: "
        f"{_said(_told(machine, alone, held))}",
        f"contexts of decodes are not stated: {_CONTEXT_TOKENS:,} tokens each",
    )
    parts = (*_beside(rows, found, machine, fit), part, _alone(found))
    return Finding(parts=parts, points=(*points, *chunked), notes=notes)


def _was_slowed(row: _Row, rows: Sequence[_Row]) -> bool:
    """Whether a longer prompt took less: then the time is not that of the work."""
    return any(each.seconds < row.seconds for each in rows if each.prompt > row.prompt)


def _told(machine: Machine, rows: Sequence[_Row], held: dict[str, float]) -> StepFit:
    return machine.fitted([row.load for row in rows], [row.seconds for row in rows], held)


def _said(fit: StepFit) -> str:
    overhead_ms, share = 1e3 * fit.values["overhead_per_step_s"], fit.values["mfu_frac"]
    return (
        f"{share:.2f} of the rate by datasheet, {overhead_ms:.0f} ms of the engine a step; "
        f"{fit.median_frac:.0%} off in the median"
    )


def _passes(folder: Path) -> list[_Row]:
    path = folder / PASSES
    rows = []
    for line, row in enumerate(table(path, ("kind", "prefill_tokens", "decode_batch", "iteration_s")), 2):
        where = f"{path}: line {line}"
        prompt, n = (int(number(row, name, where)) for name in ("prefill_tokens", "decode_batch"))
        rows.append(_Row(kind=row["kind"], prompt=prompt, n=n, seconds=number(row, "iteration_s", where)))
    for kind in ("prefill", "decode", "hybrid"):
        if not any(row.kind == kind for row in rows):
            raise ConfigError(f"{path}: no row of kind {kind}")
    return rows


def _beside(rows: list[_Row], found: dict[_Row, float], machine: Machine, fit: StepFit) -> list[Measured]:
    """A few decodes beside a prompt: against a prompt of as many tokens, and against decodes alone."""
    parts = []
    for row in (row for row in rows if row.kind == "hybrid"):
        own = float(found[row])
        alike = [each for each in rows if each.kind == "prefill" and each.prompt == row.prompt + row.n]
        few = [each for each in rows if each.kind == "decode" and each.n == _FEW]
        for other, what, most in (
            *((each, f"a prompt of {each.prompt} tokens alone", _SAME) for each in alike),
            *((each, f"{_FEW} decodes alone", _RATIO) for each in few),
        ):
            measured = row.seconds / other.seconds
            ours = own / float(machine.seconds(fit, [other.load])[0])
            parts.append(
                Measured(
                    what=f"{row.n} decodes beside {row.prompt} prompt tokens take {measured:.2f} times "
                    f"{what}, within {most:.0%}",
                    found=f"{ours:.2f} times",
                    holds=abs(ours / measured - 1) <= most,
                )
            )
    return parts


def _chunked(folder: Path, machine: Machine, fit: StepFit) -> tuple[Measured, list[Compared]]:
    """A prompt in chunks, against the same in one pass."""
    path = folder / CHUNKS
    names = ("prefill_length", "chunk_size", "prefill_ms", "relative_to_unchunked")
    off, points = [], []
    for line, row in enumerate(table(path, names), 2):
        length, size, took_ms, measured = (number(row, name, f"{path}: line {line}") for name in names)
        n, most = int(length), int(size)
        if most > n:
            continue
        pieces = [
            chunk(own, work=own * k + own * (own + 1) / 2, behind=k, n_sampled=int(k + own == n))
            for k in range(0, n, most)
            for own in (min(most, n - k),)
        ]
        seconds = float(machine.seconds(fit, pieces).sum())
        off.append(abs(seconds / float(machine.seconds(fit, [prompts(n)])[0]) - measured))
        points.append(_compared(f"{n} prompt tokens in chunks of {most}", took_ms / 1e3, seconds))
    if not off:
        raise ConfigError(f"{path}: no prompt was cut")
    median = float(np.median(off))
    what = f"what chunks cost beyond one pass within {100 * _POINTS:g} points, in the median of {len(off)}"
    found = f"{100 * median:.1f} points, {100 * max(off):.0f} at most"
    return Measured(what=what, found=found, holds=median <= _POINTS), points


def _alone(found: dict[_Row, float]) -> Measured:
    off = {row.n: float(seconds) / row.seconds - 1 for row, seconds in found.items() if row.kind == "decode"}
    median = float(np.median(np.abs(list(off.values()))))
    return Measured(
        what=f"decodes alone within {_DECODES:.0%}, in the median of {len(off)} batches",
        found=f"{median:.0%}: " + ", ".join(f"{n}: {error:+.0%}" for n, error in off.items()),
        holds=median <= _DECODES,
    )


def _compared(what: str, measured_s: float, found_s: float) -> Compared:
    return Compared(
        what=what,
        hardware="a100-80gb-pcie",
        engine="Sarathi-Serve 2024",
        metric="step time",
        route="theory",
        setting=_SETTING,
        load="one pass",
        measured=measured_s,
        found=found_s,
        unit="s",
    )


CLAIM = Claim(
    name="sarathi-chunks",
    question="Do times of whole prompts tell what chunks cost, and decodes beside a prompt and alone?",
    source="Agrawal et al. (2024), Sarathi-Serve, OSDI 24; microsoft/sarathi-serve @ 02d2567, fig. 2, 9",
    calibrated="two numbers on the times of whole prompts (the share of the rate by datasheet, and the time "
    "of the engine a step); the other efficiencies are those fitted on the kernels of that engine",
    teaches="the engine's own time grows with the sequences of a step, or attention to long prompts is "
    "slower in one pass than in several",
    answer=_answer,
    needs=(PASSES, CHUNKS),
)
