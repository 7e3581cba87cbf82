"""What a calibration found: parameters with intervals, how they meet the measurements, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from qtheory.system.hardware import Hardware

from .server import OUTSIDE

__all__ = ["ADVICE", "Calibration", "Met"]

ADVICE: Mapping[str, str] = {
    "mfu_frac": "long prompts (2,000 tokens and more) with few output tokens, near the largest rate",
    "mbu_frac": "one to four requests in flight with short prompts: their TPOT is reading the weights",
    "attention_mbu_frac": "many requests in flight, each with a long context (4,000 tokens and more)",
    "link_frac": "the same model at two tensor-parallel degrees, with long prompts",
    "overhead_per_step_s": "one request in flight with short prompts, on two models of different size",
    "overhead_per_layer_s": "two models with different numbers of layers",
    OUTSIDE: "a point with one request in flight and prompts of a few tokens: its TTFT",
}
"""What to measure so that a parameter shows."""
_LABELS: Mapping[str, str] = {
    "mfu_frac": "share of peak FLOP/s",
    "mbu_frac": "share of peak bandwidth, weights",
    "attention_mbu_frac": "share of peak bandwidth, KV",
    "link_frac": "share of the link rate",
    "overhead_per_step_s": "overhead per step",
    "overhead_per_layer_s": "overhead per layer",
    OUTSIDE: "outside the engine (TTFT)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A measured quantity, and the same by the calibrated model (seconds, or requests per second)."""

    where: str
    quantity: str
    measured: float
    model: float

    @property
    def error_frac(self) -> float:
        """Relative error of the model."""
        return self.model / self.measured - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """An accelerator that meets the measurements, and how far that goes.

    Parameters
    ----------
    kind : str
        ``steps``, ``requests`` or ``points``.
    hardware : Hardware
        With the values found.
    values, errors : mapping of str to float
        All parameters, and the standard errors of the fitted ones.
    unclear : tuple of str
        Parameters that the measurements do not tell; the usual values stand there.
    alike : tuple of (str, str)
        Pairs known together better than alone.
    met : tuple of Met
        Measured and modelled, point by point.
    notes : tuple of str
        What was corrected or left out.
    """

    kind: str
    hardware: Hardware
    values: Mapping[str, float]
    errors: Mapping[str, float]
    unclear: tuple[str, ...]
    alike: tuple[tuple[str, str], ...]
    met: tuple[Met, ...]
    notes: tuple[str, ...] = ()

    def interval(self, name: str) -> tuple[float, float]:
        """95 % interval of a fitted parameter, within what is possible."""
        half = 1.96 * self.errors[name]
        top = 1.0 if name.endswith("_frac") else float("inf")
        return max(0.0, self.values[name] - half), min(top, self.values[name] + half)

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a parameter."""
        made = []
        for name, value in self.values.items():
            low, high = self.interval(name) if name in self.errors else (None, None)
            row = {"parameter": name, "value": value, "low": low, "high": high, "how": self._how(name)}
            made.append(row)
        return made

    def met_rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a measured quantity."""
        return [asdict(entry) | {"error_frac": entry.error_frac} for entry in self.met]

    def text(self) -> str:
        """Parameters, errors, and what to measure next."""
        lines = [self._line(name) for name in self.values]
        lines += ["", *self._met_lines()]
        more = [f"{name}: not told by these measurements; measure {ADVICE[name]}" for name in self.unclear]
        more += [f"{a} and {b}: known together only; measure {ADVICE[a]}" for a, b in self.alike]
        return "\n".join(lines + ([""] if more else []) + more)

    def _how(self, name: str) -> str:
        if name in self.errors:
            return "fitted"
        return "not told" if name in self.unclear else "held"

    def _line(self, name: str) -> str:
        value, how = self.values[name], self._how(name)
        told = _shown(name, value)
        if name in self.errors:
            low, high = self.interval(name)
            told += f"  ({_shown(name, low)} to {_shown(name, high)})"
        else:
            told += f"  [{how}: the usual value]" if how == "not told" else "  [held]"
        return f"{_LABELS[name]:<34}{told}"

    def _met_lines(self) -> list[str]:
        groups: dict[str, list[float]] = {}
        for entry in self.met:
            groups.setdefault(entry.quantity, []).append(abs(entry.error_frac))
        lines = []
        for quantity, errors in groups.items():
            ordered = sorted(errors)
            middle, worst = ordered[len(ordered) // 2], ordered[-1]
            lines.append(
                f"{quantity:<12}{len(errors):>5} measured: half within {middle:.1%}, all within {worst:.1%}"
            )
        return lines


def _shown(name: str, value: float) -> str:
    if name.endswith("_frac"):
        return f"{value:.3f}"
    return f"{1e6 * value:.0f} us" if name == "overhead_per_layer_s" else f"{1e3 * value:.2f} ms"
