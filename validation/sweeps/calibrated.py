"""Efficiencies with which the simulator meets the rows that a group is calibrated on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware.fitted import efficiencies_of, shaped
from qtheory.system.hardware.hardware import Hardware
from qtheory.system.replica import replica_of
from qtheory.system.steptime import Roofline

from .fit import Fit, Free, fit
from .measured import Row, is_behind
from .served import ATTENTION, OUTSIDE, PER_SEQUENCE, Fitted, ServedRow
from .simulated import run_row
from .sweep import Sweep

__all__ = ["calibrated"]

Array = NDArray[np.float64]
_FLOOR = {"ttft_s": 0.08, "tpot_s": 0.03, "throughput_rps": 0.03}
"""Relative errors of the model itself, by which measurements are weighed."""
_MOST = 1_000  # requests of a run of the search where the rate keeps up
_NAMES = ("mfu_frac", "mbu_frac", "overhead_per_step_s", OUTSIDE)
_ENGINES = ("sglang", "trtllm", "sarathi")  # schedulers that are an engine's own; others run under vLLM
_EXCHANGE_S = 4.8e-6
"""Of the smallest messages on 2, 4 and 8 H100 under vLLM 0.24: 4.5, 4.8 and 5.3 (aiconfigurator 0.12.0)."""
_NARROW = {"h100": 0.883, "h200": 0.914, "gh200": 0.926, "b200": 0.984, "gb200": 0.992}
"""Share of peak of the best 8-bit product to that of the best 16-bit one, by which MFU is measured
(stas00/ml-engineering @ 744d01e, compute/accelerator/README.md); 0.926, the middle, for other cards."""
_KNOWN = {
    "mfu_frac": (0.12, 0.05, 1.0),
    "mbu_frac": (0.15, 0.05, 1.0),
    "overhead_per_step_s": (2e-3, 0.0, 0.5),
    ATTENTION: (0.15, 0.05, 1.0),
    PER_SEQUENCE: (3e-5, 0.0, 5e-3),
    OUTSIDE: (0.02, 0.0, 5.0),
}
"""How far usual values are off (the spread of ``fitted.csv``, of host times of engines), and bounds."""
_OUTSIDE_S = 5e-3
_DECISIVE = 10.0  # squares by which a host time of each sequence must lessen the misfit


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A measured quantity of a row."""

    place: int
    key: str
    measured: float


def calibrated(sweeps: Sequence[tuple[Sweep, Sequence[Row]]]) -> Fitted:
    """Fit MFU, MBU, host time of a step and seconds outside the engine to the rows of a group.

    Compared are TTFT and TPOT of every row, TTFT only where the served rate keeps up, and the rate where it
    does not. All are weighed against the usual values of the parameters and their spread, so that what the
    rows hardly tell stays near its usual value. Host time of each sequence of a step is fitted too where the
    sum of squares falls by more than ten with it. Where a sweep says at which share of the bandwidth decodes
    read keys and values, that share is fitted about this instead: rows of one mix of lengths cannot tell the
    two apart.

    Parameters
    ----------
    sweeps : sequence of (Sweep, rows)
        All of one accelerator, model and number of accelerators.

    Raises
    ------
    ConfigError
        If they are of different systems, measure nothing that can be compared, or ask for a share above 1.

    Examples
    --------
    >>> calibrated([])
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: calibrate: no rows to calibrate on
    """
    asked = _Asked.of(sweeps)
    names = [name for name in _NAMES if name != OUTSIDE or any(e.key == "ttft_s" for e in asked.wanted)]
    if asked.reads_slowly:
        best = _fit(asked, [*names, ATTENTION])
    else:
        best = _fit(asked, names)
        if best.misfit > _DECISIVE:
            more = _fit(asked, [*names, PER_SEQUENCE])
            best = more if more.misfit < best.misfit - _DECISIVE else best
    return replace(asked.fitted(best.values), errors=best.errors, unclear=best.unclear)


def _fit(asked: _Asked, names: Sequence[str]) -> Fit:
    return fit(asked.residuals, [_free(name, asked.card) for name in names])


def _free(name: str, card: Hardware) -> Free:
    """What is known of a parameter beforehand."""
    known = {PER_SEQUENCE: 0.0, OUTSIDE: _OUTSIDE_S}
    usual = known[name] if name in known else float(getattr(card, name))
    width, low, high = _KNOWN[name]
    return Free(name=name, usual=usual, width=width, low=low, high=high)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Rows to be met, and the accelerator that is to meet them."""

    card: Hardware
    roofline: Roofline
    rows: Sequence[tuple[Sweep, Row]]
    wanted: Sequence[_Wanted]
    reads_slowly: bool

    @classmethod
    def of(cls, sweeps: Sequence[tuple[Sweep, Sequence[Row]]]) -> _Asked:
        if not sweeps:
            raise ConfigError("calibrate: no rows to calibrate on")
        first = sweeps[0][0]
        for sweep, _ in sweeps:
            same = {key: getattr(sweep.scenario, key) for key in ("hardware", "model", "tp")}
            for key, value in (same | {ATTENTION: sweep.attention_mbu_frac}).items():
                if value != getattr(first if key == ATTENTION else first.scenario, key):
                    raise ConfigError(f"{sweep.where}: {key}: differs within group {first.group!r}")
        rows = [(sweep, row) for sweep, some in sweeps for row in some]
        wanted = [entry for place, each in enumerate(rows) for entry in _quantities(place, *each)]
        if not wanted:
            raise ConfigError(f"{first.where}: no TTFT, TPOT or rate to calibrate on")
        spec = replica_of(first.scenario)
        card, read = _usual(spec.hardware, first.scenario.scheduler), first.attention_mbu_frac
        if read is not None:
            card = replace(card, attention_mbu_frac=read)
        return cls(card, spec.roofline, rows, wanted, read is not None)

    def fitted(self, values: Mapping[str, float]) -> Fitted:
        """The accelerator with these values."""
        own = {name: value for name, value in values.items() if name not in (PER_SEQUENCE, OUTSIDE)}
        card = replace(self.card, **own)  # type: ignore[arg-type]
        return Fitted(roofline=replace(self.roofline, hardware=card), values=dict(values))

    def gaps(self, fitted: Fitted) -> Array:
        """Logarithms of simulated over measured."""
        served = [run_row(sweep, row, fitted, most=_most(sweep, row), runs=1) for sweep, row in self.rows]
        made = np.array([_log(served[entry.place], entry.key) for entry in self.wanted])
        return np.asarray(made - np.log([entry.measured for entry in self.wanted]))

    def residuals(self, values: Mapping[str, float]) -> Array:
        """The same in units of the errors of the model."""
        floor = np.array([_FLOOR[entry.key] for entry in self.wanted])
        return np.asarray(self.gaps(self.fitted(values)) / floor)


def _usual(card: Hardware, scheduler: str) -> Hardware:
    """The accelerator as it usually is under an engine: fitted efficiencies, unless it has its own."""
    if card.spread_frac:  # fitted or calibrated before
        return card
    shape = card
    if card.corner_power is None:
        peaks = dict(card.peak_flops_per_s)
        if "fp8" in peaks:
            peaks["fp8"] *= _NARROW.get(card.name, 0.926)
        shape = replace(shaped(card), exchange_s=_EXCHANGE_S, peak_flops_per_s=peaks)
    engine = scheduler if scheduler in _ENGINES else "vllm"
    return replace(shape, **efficiencies_of(card.name, engine).constants())  # type: ignore[arg-type]


def _most(sweep: Sweep, row: Row) -> int | None:
    """Requests of a run of the search: all where a queue grows; of a loop, or its end would count more."""
    return None if sweep.ends or row.rate_rps is None or is_behind(sweep, row) else _MOST


def _quantities(place: int, sweep: Sweep, row: Row) -> list[_Wanted]:
    found, behind = [], is_behind(sweep, row)
    if row.ttft_s is not None and not behind:
        found.append(_Wanted(place, "ttft_s", row.ttft_s))
    if row.tpot_s is not None:
        found.append(_Wanted(place, "tpot_s", row.tpot_s))
    if row.throughput_rps is not None and (behind or row.rate_rps is None):
        found.append(_Wanted(place, "throughput_rps", row.throughput_rps))
    return found


def _log(served: ServedRow, key: str) -> float:
    value = getattr(served, key)
    if not value:
        raise ConfigError(
            "calibrate: a simulated row has no answered request; is the replica the one measured?"
        )
    return float(np.log(value))
