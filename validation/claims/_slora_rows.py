"""Finite runs of S-LoRA as they were published, and the requests that the script of each one draws."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.workload.request import Requests

from ._tables import number, table

__all__ = ["FILE", "SCRIPT_SEED", "Row", "adapter_tokens", "drawn", "read_rows"]

FILE = "benchmarks/slora_a10g_a100_rate_cv.csv"
"""File that is read."""

SCRIPT_SEED = 42
"""Of benchmarks/trace.py."""

_POLICIES = ("slora", "lifo", "abort")
_RANKS = {"S1": (8,), "S2": (64, 32, 16, 8), "S3": (16,), "S4": (64, 32, 16)}  # exp_suite.py, LORA_DIR
_EARLIER = "backup"  # their folder
_TOKENS_A_RANK = 4  # req_queue.py
_NOTES = re.compile(r"lengths uniform \[(\d+), (\d+)\] in / \[(\d+), (\d+)\] out; setting (S\d)")
_NUMBERS = (
    "request_rate_rps", "arrival_cv", "duration_s", "num_adapters", "adapter_alpha", "ttft_mean_ms",
    "e2e_mean_ms", "attainment",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run: how its requests were drawn, and what was measured.

    ``lengths`` are the least prompt, the first that is too long, and the same of outputs; ``in_time_frac``
    the share of all requests whose first token came within 6 s. ``is_earlier`` tells runs of an earlier
    server, which its authors keep apart.
    """

    sweep: str
    gpu: str
    setting: str
    model: str
    policy: str
    rate_rps: float
    cv: float
    duration_s: float
    n_adapters: int
    alpha: float
    lengths: tuple[int, int, int, int]
    ttft_s: float
    e2e_s: float
    in_time_frac: float
    is_earlier: bool = False

    @property
    def group(self) -> tuple[str, str, bool]:
        """What runs on equal servers have in common."""
        return self.gpu, self.setting, self.is_earlier

    @property
    def asked(self) -> tuple[object, ...]:
        """What two equal runs have in common: the policy, and what is drawn on which server."""
        drawn_by = (self.rate_rps, self.cv, self.duration_s, self.n_adapters, self.alpha, self.lengths)
        return self.policy, *self.group, *drawn_by


def read_rows(folder: Path) -> list[Row]:
    """Runs of S-LoRA itself, in order of arrival, latest first, or giving up who is late."""
    path = folder / FILE
    rows = []
    columns = ("sweep_id", "gpu", "model", "policy", "notes", "source_file", *_NUMBERS)
    for line, row in enumerate(table(path, columns), start=2):
        said = _NOTES.search(row["notes"])
        if row["policy"] not in _POLICIES or said is None or said[5] not in _RANKS:
            continue
        where = f"{path}: line {line}"
        value = {name: number(row, name, where) for name in _NUMBERS}
        if min(value[name] for name in ("request_rate_rps", "arrival_cv", "duration_s", "ttft_mean_ms")) <= 0:
            raise ConfigError(f"{where}: rate, arrival_cv, duration and TTFT must be > 0")
        rows.append(
            Row(
                sweep=row["sweep_id"],
                gpu=row["gpu"],
                setting=said[5],
                model=row["model"],
                policy=row["policy"],
                rate_rps=value["request_rate_rps"],
                cv=value["arrival_cv"],
                duration_s=value["duration_s"],
                n_adapters=int(value["num_adapters"]),
                alpha=value["adapter_alpha"],
                lengths=(int(said[1]), int(said[2]), int(said[3]), int(said[4])),
                ttft_s=value["ttft_mean_ms"] / 1e3,
                e2e_s=value["e2e_mean_ms"] / 1e3,
                in_time_frac=value["attainment"],
                is_earlier=_EARLIER in PurePosixPath(row["source_file"]).parts,
            )
        )
    if not rows:
        raise ConfigError(
            f"{path}: no run with policy {', '.join(_POLICIES)} that says its lengths and setting"
        )
    return rows


def drawn(row: Row, seed: int = SCRIPT_SEED, *, slo_s: float = np.inf) -> Requests:
    """The requests of a run: adapters, lengths and gamma gaps, in the order in which the script draws them.

    The number of the adapter is the client.

    Examples
    --------
    >>> row = Row(sweep="", gpu="", setting="S2", model="", policy="slora", rate_rps=2.0, cv=8.0,
    ...     duration_s=300.0, n_adapters=200, alpha=1.0, lengths=(8, 512, 8, 512), ttft_s=1.0, e2e_s=1.0,
    ...     in_time_frac=1.0)
    >>> asked = drawn(row)
    >>> len(asked), round(float(asked.arrival_s[-1]), 1)
    (600, 432.5)
    """
    rng = np.random.RandomState(seed)  # the script's own generator
    n = int(row.rate_rps * row.duration_s)
    adapter: NDArray[np.int64] = (rng.power(row.alpha, n) * row.n_adapters).astype(np.int64)
    least, beyond, least_out, beyond_out = row.lengths
    prompts = rng.randint(least, beyond, n)
    outputs = rng.randint(least_out, beyond_out, n)
    gaps = rng.gamma(1 / row.cv**2, row.cv**2 / row.rate_rps, n)
    return Requests(
        arrival_s=np.cumsum(gaps),
        prompt_tokens=prompts,
        output_tokens=outputs,
        client=adapter,
        ttft_slo_s=np.full(n, slo_s),
    )


def adapter_tokens(row: Row) -> tuple[int, ...]:
    """Tokens of memory that each adapter takes while a request with it runs; ranks take turns."""
    ranks = _RANKS[row.setting]
    return tuple(_TOKENS_A_RANK * ranks[k % len(ranks)] for k in range(row.n_adapters))
