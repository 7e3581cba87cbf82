"""The rates that a system of accelerators takes, by theory, with the best of its settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from qtheory.basics.errors import ServingError
from qtheory.predict import Prediction, limit_rps, predict_replicas, sweep
from qtheory.system.hardware import find_hardware
from qtheory.system.hardware.fitted import efficiencies_of
from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import StepLoad, StepTime
from qtheory.system.workload import Workload

__all__ = ["Setting", "closed_rps", "numeric_rps", "offline", "settings"]

_TPS, _MAX_SEQS = (1, 2, 4, 8), (32, 64, 128, 256, 512, 1024, 2048)
_BUDGET_TOKENS, _MEMORY_FRAC = 2048, 0.95
_LOADS = tuple(0.98 - 0.02 * k for k in range(47))
_FIRST, _STEP, _LEAST = 1.04, 0.96, 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slower:
    """A step time over an efficiency."""

    device: StepTime
    efficiency: float

    def step_s(self, load: StepLoad) -> float:
        return self.device.step_s(load) / self.efficiency

    def decode_line(self, n_decodes: int) -> tuple[float, float] | None:
        line = self.device.decode_line(n_decodes)
        return None if line is None else (line[0] / self.efficiency, line[1] / self.efficiency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Replicas of one setting, all that the accelerators of a system hold."""

    spec: ReplicaSpec
    n_replicas: int

    def at(self, efficiency: float) -> Setting:
        """The same with every step slower."""
        step = _Slower(device=self.spec.step_time, efficiency=efficiency)
        return replace(self, spec=replace(self.spec, step_time=step))

    def limit_rps(self, workload: Workload) -> float:
        """Stability limit of all replicas."""
        return limit_rps(self.spec, workload) * self.n_replicas


def settings(hardware: str, model: str, n: int, engine: str = "generic") -> Iterator[Setting]:
    """What an entrant tries: accelerators a replica and requests at once; narrowest weights of the card."""
    formats = find_hardware(hardware).peak_flops_per_s
    weights = next(name for name in ("fp4", "fp8", "int8", "bf16") if name in formats)
    kv_dtype = "fp8" if "fp8" in formats else "bf16"
    for tp in (tp for tp in _TPS if n % tp == 0):
        for max_seqs in _MAX_SEQS:
            scenario = Scenario(
                hardware=hardware,
                model=model,
                tp=tp,
                weights=weights,
                kv_dtype=kv_dtype,
                memory_frac=_MEMORY_FRAC,
                scheduler="chunked",
                budget_tokens=_BUDGET_TOKENS,
                max_seqs=max_seqs,
            )
            try:
                yield Setting(spec=_usual(replica_of(scenario), engine), n_replicas=n // tp)
            except ServingError:  # it does not fit
                break


def _usual(spec: ReplicaSpec, engine: str) -> ReplicaSpec:
    """With the efficiencies of kernels of this engine: of the card, else the middle of those measured.

    Limits call for batches at which products turn from reading to computing; the preset turns there at once.
    """
    card = efficiencies_of(spec.hardware.name, engine).on(spec.hardware, engine)
    roofline = replace(spec.roofline, hardware=card)
    return replace(spec, hardware=card, roofline=roofline, step_time=roofline)


def offline(tried: list[Setting], workload: Workload) -> float:
    """Highest stability limit of all settings: requests a second if they are all there."""
    return max((setting.limit_rps(workload) for setting in tried), default=0.0)


def closed_rps(tried: list[Setting], workload: Workload) -> tuple[float, Setting | None]:
    """Highest rate within the limits at 99 %, by formulas, and its setting."""
    best: tuple[float, Setting | None] = (0.0, None)
    for setting in sorted(tried, key=lambda each: -each.limit_rps(workload)):
        limit = setting.limit_rps(workload)
        if _LOADS[0] * limit <= best[0]:
            break
        one = limit / setting.n_replicas
        points = sweep(setting.spec, workload, [load * one for load in _LOADS], tier="closed")
        held = (point.rate_rps * setting.n_replicas for point in points if _is_within(point, workload))
        rate_rps = next(held, 0.0)
        if rate_rps > best[0]:
            best = rate_rps, setting
    return best


def numeric_rps(setting: Setting, workload: Workload, near_rps: float) -> float:
    """Highest rate within the limits at 99 %, by the numeric tier, in steps of 4 % from above; 0 if none."""
    limit = setting.limit_rps(workload)
    share = _FIRST
    while share > _LEAST:
        rate_rps = share * near_rps
        if rate_rps < limit and _holds(setting, workload, rate_rps):
            return rate_rps
        share *= _STEP
    return 0.0


def _holds(setting: Setting, workload: Workload, rate_rps: float) -> bool:
    try:
        point = predict_replicas(setting.spec, workload, n_replicas=setting.n_replicas, rate_rps=rate_rps)
    except ServingError:  # no answer so near to the limit
        return False
    return _is_within(point, workload)


def _is_within(point: Prediction, workload: Workload) -> bool:
    slo = workload.slo
    first = slo.ttft_s is None or point.p99_ttft_s <= slo.ttft_s
    return first and (slo.tpot_s is None or (point.p99_tpot_s or 0.0) <= slo.tpot_s)
