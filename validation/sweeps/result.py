"""What came of the sweeps of a manifest, in text and in rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from .compared import Judged
from .measured import Row
from .served import Fitted, ServedRow
from .sweep import Sweep

__all__ = ["Route", "SweepResult", "SweepResults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route's answer to a sweep.

    Parameters
    ----------
    name : str
        ``simulator`` or ``theory``.
    served : tuple of ServedRow or None
        A row each.
    compared : tuple of Judged
        What is judged.
    refused : tuple of str
        Why there is no answer to some rows.
    """

    name: str
    served: tuple[ServedRow | None, ...]
    compared: tuple[Judged, ...]
    refused: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """``passed`` if all holds, ``failed`` with a miss, ``skipped`` if something is not answered."""
        if any(each.holds is False for each in self.compared):
            return "failed"
        return "passed" if self.compared and all(each.holds for each in self.compared) else "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """A sweep with what was fitted for it and what both routes say."""

    sweep: Sweep
    rows: tuple[Row, ...]
    fitted: Fitted
    calibrated_on: tuple[str, ...]
    routes: tuple[Route, ...]

    def text(self) -> str:
        """What is asked, of which data, calibrated on what, then a line a route, and what a miss says."""
        sweep = self.sweep
        question = sweep.question or f"what does {sweep.scenario.scheduler} do under this load?"
        note = f"; {sweep.note}" if sweep.note else ""
        loads = f"{self.rows[0].label} to {self.rows[-1].label}" if len(self.rows) > 1 else self.rows[0].label
        lines = [
            f"{sweep.name}: {question}",
            f"  data: {sweep.file.name}, {len(self.rows)} rows, {loads}{note}",
            f"  calibrated: {self._calibrated()}",
        ]
        sample = ", in sample" if sweep.role == "calibrate" else ""
        for route in self.routes:
            told = "; ".join(each.text() for each in route.compared) or "nothing is judged"
            lines.append(f"  {route.name}{sample} ... {route.outcome}: {told}")
            lines += [f"    no answer: {why}" for why in route.refused]
        if any(route.outcome == "failed" for route in self.routes) and sweep.teaches:
            lines.append(f"  a miss says: {sweep.teaches}")
        return "\n".join(lines)

    def _calibrated(self) -> str:
        if not self.calibrated_on:
            return f"on nothing; {self.sweep.scenario.hardware} as the preset has it"
        return f"on {', '.join(self.calibrated_on)}: {self.fitted.said()}"

    def table(self) -> list[dict[str, Any]]:
        """Plain data, a row a measured point."""
        made = []
        for place, row in enumerate(self.rows):
            entry = {"sweep": self.sweep.name, "role": self.sweep.role, **asdict(row)}
            for route in self.routes:
                served = route.served[place]
                for key in ("throughput_rps", "ttft_s", "tpot_s"):
                    entry[f"{route.name}_{key}"] = None if served is None else getattr(served, key)
            made.append(entry)
        return made

    def verdicts(self) -> list[dict[str, Any]]:
        """Plain data, a row a judged quantity and route."""
        return [
            {"sweep": self.sweep.name, "role": self.sweep.role, "route": route.name, "outcome": route.outcome}
            | asdict(each)
            for route in self.routes
            for each in route.compared
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResults:
    """All sweeps of a manifest."""

    results: tuple[SweepResult, ...]

    def _count(self, outcome: str) -> int:
        return sum(route.outcome == outcome for result in self.results for route in result.routes)

    @property
    def n_passed(self) -> int:
        """Answers, a sweep and route each, of which all that is judged holds."""
        return self._count("passed")

    @property
    def n_failed(self) -> int:
        """Answers with a miss."""
        return self._count("failed")

    @property
    def n_skipped(self) -> int:
        """Answers without a miss in which something could not be judged."""
        return self._count("skipped")

    @property
    def is_good(self) -> bool:
        """Whether something passed and nothing failed."""
        return self.n_failed == 0 and self.n_passed > 0

    def text(self) -> str:
        """All sweeps, the errors over all that were not calibrated on, and the closing line."""
        closing = f"{self.n_passed} passed, {self.n_failed} failed, {self.n_skipped} skipped"
        return "\n".join([*(result.text() for result in self.results), *self._overall(), closing])

    def _overall(self) -> list[str]:
        lines = []
        for name in ("simulator", "theory"):
            found: dict[str, list[float]] = {}
            for result in self.results:
                if result.sweep.role == "calibrate":
                    continue
                for each in next(route for route in result.routes if route.name == name).compared:
                    if each.error_frac is not None and each.quantity != "ttft_inside":
                        found.setdefault(each.quantity, []).append(abs(each.error_frac))
            parts = [
                f"{key} {100 * median(errors):.1f} % (worst {100 * max(errors):.1f} %, {len(errors)} sweeps)"
                for key, errors in found.items()
            ]
            if parts:
                lines.append(f"{name}, median error of what was not calibrated on: {', '.join(parts)}")
        return lines

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a measured point."""
        return [row for result in self.results for row in result.table()]

    def verdict_rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a judged quantity and route."""
        return [row for result in self.results for row in result.verdicts()]
