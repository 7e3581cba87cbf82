"""What DistServe's authors published: fitted step times, memory, lengths and measured attainment."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.basics.files import read_text
from qtheory.system.steptime import StepLoad
from qtheory.system.workload.readers import read_lengths

__all__ = [
    "FILES",
    "FITS",
    "TOKENS",
    "Curve",
    "FittedStep",
    "read_curves",
    "read_fits",
    "read_pairs",
    "read_tokens",
]

FITS = "distserve/a100_latency_fits.csv"
TOKENS = "distserve/a100_max_num_tokens.csv"
MEASURED = "distserve/slo_attainment_measured_digitised.csv"
TALKS, FIRST_TURNS = "traces/lengths_sharegpt_8k.csv", "traces/lengths_sharegpt.csv"
FILES = (FITS, TOKENS, MEASURED, TALKS, FIRST_TURNS)
"""Files that are read."""

_LONGEST = 2048
_SEED = 20261130
_MOST_BYTES = 16 << 20
_PHASES = ("prefill", "decoding_smallbs", "decoding_largebs")


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedStep:
    """Seconds of steps of whole prompts or of decodes, as fitted by the authors (coefficients in seconds)."""

    prefill: tuple[float, float, float]
    small: tuple[float, float, float]
    large: tuple[float, float, float]
    threshold: int

    def step_s(self, load: StepLoad) -> float:
        """``a + b sum(l) + c sum(l^2)`` of prompts and ``a + b context + c batch`` of decodes."""
        n, context, prompt, work, _, _ = load
        seconds = 0.0
        if prompt:
            base, each, square = self.prefill
            seconds += base + each * prompt + square * (2 * work - prompt)
        if n:
            base, per_context = self.decode_line(n)
            seconds += base + per_context * context
        return seconds

    def decode_line(self, n_decodes: int) -> tuple[float, float]:
        """Exact line of a step of decodes."""
        base, per_context, each = self.small if n_decodes < self.threshold else self.large
        return base + each * n_decodes, per_context

    def in_stages(self, n_stages: int) -> FittedStep:
        """The decodes of a pipeline: as many batches under way as stages, each with its part of them.

        Every request gets a token in the time of a batch of ``1 / n_stages`` of them; memory is shared.
        """

        def part(line: tuple[float, float, float]) -> tuple[float, float, float]:
            return line[0], line[1] / n_stages, line[2] / n_stages

        small, large = part(self.small), part(self.large)
        return replace(self, small=small, large=large, threshold=n_stages * self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Measured attainment of one system; rates (n,) of all its accelerators, shares (n,) of good requests."""

    model: str
    system: str
    n_gpus: int
    ttft_s: float
    tpot_s: float
    rate_rps: NDArray[np.float64]
    good_frac: NDArray[np.float64]


def _table(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    table = csv.DictReader(StringIO(read_text(path, most_bytes=_MOST_BYTES, wanted="a table")))
    missing = [name for name in columns if name not in (table.fieldnames or ())]
    if missing:
        raise ConfigError(f"{path}: no column {', '.join(missing)}")
    rows = list(table)
    if not rows:
        raise ConfigError(f"{path}: no rows below the header")
    return rows


def _number(path: Path, text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise ConfigError(f"{path}: {text!r} is not a number") from None


def read_fits(folder: Path) -> dict[tuple[str, str, int], FittedStep]:
    """Step times by engine, model and accelerators."""
    path = folder / FITS
    columns = ("engine", "model", "tp", "phase", "bs_threshold", "a_ms", "b_ms", "c_ms")
    found: dict[tuple[str, str, int], dict[str, tuple[float, ...]]] = defaultdict(dict)
    threshold = 0
    for row in _table(path, columns):
        key = row["engine"], row["model"].removeprefix("facebook/"), int(_number(path, row["tp"]))
        threshold = int(_number(path, row["bs_threshold"]))
        found[key][row["phase"]] = tuple(_number(path, row[name]) / 1e3 for name in columns[-3:])
    fits = {}
    for key, phases in found.items():
        if any(phase not in phases for phase in _PHASES):
            raise ConfigError(f"{path}: {' '.join(map(str, key))} lacks one of {', '.join(_PHASES)}")
        prefill, small, large = ((a, b, c) for a, b, c in (phases[phase] for phase in _PHASES))
        fits[key] = FittedStep(prefill=prefill, small=small, large=large, threshold=threshold)
    return fits


def read_tokens(folder: Path) -> dict[tuple[str, int, int], int]:
    """Tokens whose keys and values fit, by model, accelerators of a layer and stages."""
    path = folder / TOKENS
    rows = _table(path, ("model", "tp", "pp", "max_num_tokens"))
    numbers = [[int(_number(path, row[name])) for name in ("tp", "pp", "max_num_tokens")] for row in rows]
    return {
        (row["model"].removeprefix("facebook/"), tp, pp): tokens
        for row, (tp, pp, tokens) in zip(rows, numbers, strict=True)
    }


def read_curves(folder: Path) -> list[Curve]:
    """Curves of ShareGPT for OPT-13B and OPT-66B, of vLLM and DistServe."""
    path = folder / MEASURED
    numbers = ("gpus", "ttft_slo_s", "tpot_slo_s", "per_gpu_rate_rps", "slo_attainment_pct")
    groups: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for row in _table(path, ("model", "dataset", "system", *numbers)):
        key = row["model"].lower(), row["system"]
        is_known = key[0] in ("opt-13b", "opt-66b") and key[1] in ("vllm", "distserve")
        if is_known and row["dataset"] == "ShareGPT":
            groups[key].append([_number(path, row[name]) for name in numbers])
    curves = []
    for (model, system), rows in sorted(groups.items()):
        gpus, ttft_s, tpot_s, rates, shares = np.array(sorted(rows, key=lambda each: each[3])).T
        curve = Curve(
            model=model,
            system=system,
            n_gpus=int(gpus[0]),
            ttft_s=float(ttft_s[0]),
            tpot_s=float(tpot_s[0]),
            rate_rps=rates * gpus[0],
            good_frac=shares / 100,
        )
        curves.append(curve)
    if not curves:
        raise ConfigError(f"{path}: no row of ShareGPT with OPT-13B or OPT-66B under vllm or distserve")
    return curves


def read_pairs(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Prompts and outputs, below 2,048 tokens together.

    The authors' script takes a random number of turns of a conversation as the prompt and the next turn, of
    either side, as the answer: so prompts are those of whole conversations, and one answer in two has the
    length of a message of the person.
    """
    prompts, outputs = read_lengths(folder / TALKS)
    messages, _ = read_lengths(folder / FIRST_TURNS)
    rng = np.random.default_rng(_SEED)
    outputs = np.where(rng.random(len(outputs)) < 0.5, rng.choice(messages, len(outputs)), outputs)
    kept = prompts + outputs < _LONGEST
    return prompts[kept], outputs[kept]
