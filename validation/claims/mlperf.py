"""Certified rates of MLPerf Inference: one efficiency an engine from Offline, then Server and Interactive."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from qtheory.system.slo import Slo
from qtheory.system.workload import Workload

from ._mlperf_lengths import FILES, lengths_of
from ._mlperf_rates import Setting, closed_rps, numeric_rps, offline, settings
from ._mlperf_rows import Row, read_rows
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIM"]

_FILE = "benchmarks/mlperf_inference_llm.csv"
_LOW, _HIGH, _SHARE = 0.8, 1.2, 2 / 3
_NO_LIMITS = Slo()
_KERNELS = {"TensorRT-LLM": "trtllm", "vLLM": "vllm"}
_WIDE, _OWN = "one efficiency an engine", "its own Offline rate"


class _Answers:
    """Predictions for rows, each computed once for all systems that are alike."""

    def __init__(self, folder: Path, rows: list[Row]) -> None:
        self.folder = folder
        outputs = defaultdict(list)
        for row in rows:
            outputs[row.hardware, row.model].append(row.output_tokens)
        self.mean_output = {key: statistics.fmean(values) for key, values in outputs.items()}
        self.offline_rps: Callable[[Row], float] = lambda row: self._offline(_system(row))
        self._offline = cache(self._find_offline)
        self._served = cache(self._find_served)

    def _workload(self, hardware: str, model: str, slo: Slo) -> Workload:
        lengths = lengths_of(self.folder, model, self.mean_output[hardware, model])
        return Workload(name=model, lengths=lengths, rate_rps=1.0, slo=slo)

    def _find_offline(self, system: tuple[str, str, int, str]) -> float:
        return offline(list(settings(*system)), self._workload(*system[:2], _NO_LIMITS))

    def _find_served(
        self, system: tuple[str, str, int, str], slo: Slo, efficiency: float
    ) -> tuple[float, Setting | None]:
        workload = self._workload(*system[:2], slo)
        near_rps, setting = closed_rps([each.at(efficiency) for each in settings(*system)], workload)
        return (0.0, None) if setting is None else (numeric_rps(setting, workload, near_rps), setting)

    def served_rps(self, row: Row, efficiency: float) -> float:
        """Rate within the limits, numeric."""
        return self._served(_system(row), _limits(row), efficiency)[0]

    def own_rps(self, row: Row, efficiency: float, own: float) -> float:
        """Rate within the limits at the system's own efficiency, with the same setting, by formulas."""
        setting = self._served(_system(row), _limits(row), efficiency)[1]
        workload = self._workload(row.hardware, row.model, _limits(row))
        return 0.0 if setting is None else closed_rps([setting.at(own / efficiency)], workload)[0]


def _system(row: Row) -> tuple[str, str, int, str]:
    """Accelerators, model and engine, as `settings` takes them."""
    return row.hardware, row.model, row.n, _KERNELS[row.engine]


def _limits(row: Row) -> Slo:
    return Slo(ttft_s=row.ttft_s, tpot_s=row.tpot_s)


def _answer(folder: Path) -> Finding:
    rows, notes = read_rows(folder / _FILE)
    known = [row for row in rows if row.hardware]
    answers = _Answers(folder, known)
    single = [row for row in known if row.n_nodes == 1]
    ratios = _offline_ratios(single, answers)
    shares = defaultdict(list)
    for row, ratio in ratios:
        shares[row.engine].append(ratio)
    efficiency = {engine: round(statistics.median(values), 3) for engine, values in shares.items()}
    for engine, values in shares.items():
        span = f"{len(values)} systems from {min(values):.2f} to {max(values):.2f}"
        notes.append(
            f"{engine}: {efficiency[engine]:.2f} of the datasheet's rate (median of Offline, {span})"
        )
    served = [row for row in single if row.scenario != "Offline" and row.engine in efficiency]
    wide = [_point(row, answers.served_rps(row, efficiency[row.engine]), _WIDE) for row in served]
    own = {row.system: ratio for row, ratio in ratios}
    each = [
        _point(row, answers.own_rps(row, efficiency[row.engine], own[row.system]), _OWN)
        for row in served
        if row.system in own
    ]
    parts = (_within(_WIDE, wide), _within(_OWN, each), _pooled(known))
    notes += [_counted(setting, points) for setting, points in ((_WIDE, wide), (_OWN, each))]
    datasheet = [_point(row, answers.offline_rps(row), "datasheet") for row, _ in ratios]
    return Finding(parts=parts, points=(*datasheet, *wide, *each), notes=tuple(notes))


def _counted(setting: str, points: list[Compared]) -> str:
    """How many are near in each scenario: Interactive is the harder one."""
    counts = []
    for scenario in ("Server", "Interactive"):
        own = [point for point in points if point.metric.endswith(scenario)]
        counts.append(f"{scenario} {_n_near(own)} of {len(own)}")
    return f"{setting}, within {_LOW:g} to {_HIGH:g}: {', '.join(counts)}"


def _n_near(points: list[Compared]) -> int:
    return sum(_LOW <= point.found / point.measured <= _HIGH for point in points)


def _offline_ratios(rows: Iterable[Row], answers: _Answers) -> list[tuple[Row, float]]:
    """Offline rows with certified over predicted rate by the datasheet."""
    offline_rows = [row for row in rows if row.scenario == "Offline"]
    found = [(row, answers.offline_rps(row)) for row in offline_rows]
    return [(row, row.rate_rps / rate) for row, rate in found if rate > 0]


def _point(row: Row, found_rps: float, setting: str) -> Compared:
    return Compared(
        what=row.label,
        hardware=row.hardware,
        engine=row.engine,
        metric=f"largest rate, {row.scenario}",
        route="theory",
        setting=setting,
        load="at the limit",
        measured=row.rate_rps,
        found=found_rps,
        unit="req/s",
    )


def _within(what: str, points: list[Compared]) -> Measured:
    near = _n_near(points)
    share = near / len(points) if points else 0.0
    return Measured(
        what=f"{what}: two thirds of the rates under limits within {_LOW:g} to {_HIGH:g} of certified",
        found=f"{near} of {len(points)} ({share:.0%})",
        holds=share >= _SHARE,
    )


def _pooled(rows: list[Row]) -> Measured:
    """Whether a pool of k times the accelerators takes k times the rate, as replicas behind a router do."""
    groups = defaultdict(list)
    for row in rows:
        groups[row.version, row.submitter, row.accelerator, row.model, row.scenario].append(row)
    shares = []
    for group in groups.values():
        least = min(row.n for row in group)
        each = max(row.rate_rps / row.n for row in group if row.n == least)
        shares += [(row.rate_rps / row.n / each, least, row.n) for row in group if row.n > least]
    near = sum(_LOW <= share <= _HIGH for share, _, _ in shares)
    sizes = ", ".join(f"{a} to {b}: {share:.2f}" for share, a, b in shares)
    return Measured(
        what=f"k times the accelerators take k times the rate, all within {_LOW:g} to {_HIGH:g} of it",
        found=f"{near} of {len(shares)} ({sizes or 'none'})",
        holds=bool(shares) and near == len(shares),
    )


CLAIM = Claim(
    name="mlperf",
    question="Does one efficiency an engine, fitted on Offline, give the Server and Interactive rates?",
    source="MLPerf Inference: mlcommons/inference_results_v4.1 @ 198fc46, inference_results_v5.1 @ 965182b",
    calibrated="one number an engine, on the Offline rows of single nodes, then one a system; step times by "
    "the datasheet and what kernels of the engine reach of it; accelerators a replica and requests at once "
    "are the best by theory, weights the narrowest of the card, 2,048 tokens a step",
    teaches="an engine is not equally good on all cards and models, or limits bind otherwise than assumed",
    answer=_answer,
    needs=(_FILE, *dict.fromkeys(FILES.values())),
)
