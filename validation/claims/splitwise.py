"""Measured prompts and tokens of Splitwise: batches, foretold from one sequence at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import find_hardware
from qtheory.system.models import find_model
from qtheory.system.steptime import StepLoad

from ._pass_loads import Machine, decodes, prompts
from ._tables import number, table
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

FILE = "splitwise/perf_model_means.csv"
_CARDS = {"a100-80gb": "a100", "h100-80gb": "h100"}
_MOST = 0.25
_NAMES = (
    "tensor_parallel", "prompt_size", "batch_size", "token_size", "prompt_ms_mean", "token_ms_mean",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    model: str
    card: str
    tp: int
    prompt: int
    n: int
    outputs: int
    prompt_s: float
    token_s: float

    @property
    def loads(self) -> tuple[StepLoad, StepLoad]:
        """The step of all prompts, and one of tokens half-way."""
        return prompts(self.prompt, self.n), decodes(self.n, self.prompt + self.outputs / 2)


def _answer(folder: Path) -> Finding:
    rows, notes = _rows(folder)
    parts: list[Measured] = []
    points: list[Compared] = []
    for key in dict.fromkeys((row.model, row.card, row.tp) for row in rows):
        own = [row for row in rows if (row.model, row.card, row.tp) == key]
        one, more = [row for row in own if row.n == 1], [row for row in own if row.n > 1]
        if not one or not more:
            continue
        name = f"{key[0]} on {key[2]} x {key[1]}"
        machine = Machine(hardware=find_hardware(_CARDS[key[1]]), model=find_model(key[0]), tp=key[2])
        fit = machine.fitted(_loads(one), _seconds(one), {})
        notes.append(
            f"{name}: {len(one)} settings with one sequence are met {fit.median_frac:.0%} off in the median, "
            f"{fit.p90_frac:.0%} nine in ten"
        )
        found = machine.seconds(fit, _loads(more))
        half = len(more)
        for metric, ours, measured in (
            ("prompts", found[:half], _seconds(more)[:half]),
            ("tokens", found[half:], _seconds(more)[half:]),
        ):
            parts.append(_judged(f"{name}, {metric}", more, ours.tolist(), measured))
            points += _points(name, metric, more, ours.tolist(), measured)
    if not parts:
        raise ConfigError(f"{folder / FILE}: no model and card that are known, with one sequence and more")
    return Finding(parts=tuple(parts), points=tuple(points), notes=tuple(notes))


def _rows(folder: Path) -> tuple[list[_Row], list[str]]:
    """Rows of known models and cards whose batch was one, and what was left out."""
    path = folder / FILE
    rows, unknown = [], set()
    for line, row in enumerate(table(path, ("model", "hardware", *_NAMES)), start=2):
        tp, prompt, n, outputs, prompt_ms, token_ms = (
            number(row, name, f"{path}: line {line}") for name in _NAMES
        )
        if row["hardware"] not in _CARDS or not _is_model(row["model"]):
            unknown.add(f"{row['model']} on {row['hardware']}")
            continue
        rows.append(
            _Row(
                model=row["model"],
                card=row["hardware"],
                tp=int(tp),
                prompt=int(prompt),
                n=int(n),
                outputs=int(outputs),
                prompt_s=prompt_ms / 1e3,
                token_s=token_ms / 1e3,
            )
        )
    kept = [row for row in rows if not _was_split(row, rows)]
    split = len(rows) - len(kept)
    notes = [f"{split} batches took less for their prompts than fewer did: they were not computed at once"]
    return kept, [f"left out, as not known: {', '.join(sorted(unknown))}", *notes]


def _was_split(row: _Row, rows: Sequence[_Row]) -> bool:
    """Whether a smaller batch of the same prompts took longer."""
    same = [each for each in rows if (each.model, each.card, each.tp) == (row.model, row.card, row.tp)]
    fewer = [each.prompt_s for each in same if each.prompt == row.prompt and 1 < each.n < row.n]
    return any(row.prompt_s < seconds for seconds in fewer)


def _is_model(name: str) -> bool:
    try:
        find_model(name)
    except ConfigError:
        return False
    return True


def _loads(rows: Sequence[_Row]) -> list[StepLoad]:
    return [row.loads[0] for row in rows] + [row.loads[1] for row in rows]


def _seconds(rows: Sequence[_Row]) -> list[float]:
    return [row.prompt_s for row in rows] + [row.token_s for row in rows]


def _judged(name: str, rows: list[_Row], ours: list[float], measured: list[float]) -> Measured:
    off = [found / each - 1 for found, each in zip(ours, measured, strict=True)]
    median = float(np.median(np.abs(off)))
    by_batch = ", ".join(f"{row.n}: {error:+.0%}" for row, error in zip(rows, off, strict=True))
    return Measured(
        what=f"{name} of batches within {_MOST:.0%}, in the median over {len(rows)}",
        found=f"{median:.0%} ({by_batch})",
        holds=median <= _MOST,
    )


def _points(
    name: str, metric: str, rows: list[_Row], ours: list[float], measured: list[float]
) -> list[Compared]:
    return [
        Compared(
            what=f"{name}, {metric} of {row.n} sequences with {row.prompt} prompt tokens",
            hardware=_CARDS[row.card],
            engine="vLLM 2023",
            metric="step time",
            route="theory",
            setting="efficiencies on one sequence",
            load="one pass",
            measured=each,
            found=found,
            unit="s",
        )
        for row, found, each in zip(rows, ours, measured, strict=True)
    ]


CLAIM = Claim(
    name="splitwise-batches",
    question="Do times of one prompt and of one sequence's tokens foretell those of batches?",
    source="Patel et al. (2024), Splitwise, ISCA 24; Mutinifni/splitwise-sim @ 8f99e7d, data/perf_model.csv",
    calibrated="efficiencies and overhead of each model, card and number of accelerators, on its settings "
    "with one sequence",
    teaches="time that accelerators do not share grows with the tokens of a step, and with its sequences",
    answer=_answer,
    needs=(FILE,),
)
