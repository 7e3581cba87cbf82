"""From files of measurements to a calibrated accelerator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware
from qtheory.system.hardware.fitted import efficiencies_of, shaped
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import FRACTIONS, OVERHEADS
from validation.readers import BenchPoint, EngineRun
from validation.readers.content import Content, read_content
from validation.readers.read import measured_of, only

from .from_served import points_fit, runs_fit
from .from_steps import fits_steps, steps_fit
from .nonsense import refuse_nonsense, refuse_nonsense_run
from .result import Calibration, Met
from .server import OUTSIDE, Server

__all__ = ["calibrate"]

_KINDS = {"steps": "a table of steps", "requests": "requests of an engine", "points": "operating points"}


def calibrate(
    paths: Sequence[str | Path],
    scenario: Scenario,
    *,
    where: Mapping[str, str] | None = None,
    in_flight: int | None = None,
    rate_rps: float | None = None,
    name: str = "",
    tick: Callable[[], None] = lambda: None,
) -> Calibration:
    """Fit efficiencies and overheads of an accelerator to measurements.

    Parameters
    ----------
    paths : sequence of path
        Files of one kind: tables of steps, requests of an engine, or results of load tools.
    scenario : Scenario
        What was measured: accelerator, model, precision, scheduler and its limits; laws of the lengths where
        the files give means only.
    where : mapping of str to str, optional
        Of tables, only the rows whose columns have these texts.
    in_flight, rate_rps : int, float, optional
        How requests were sent, for results that do not say it.
    name : str
        Of the calibrated accelerator (default: that of the given one and ``calibrated``).
    tick : callable
        Called after each simulated point.

    Raises
    ------
    ConfigError
        If a file cannot be read, the files are of different kinds, what they say cannot be, or an efficiency
        would be above 1.
    """
    if in_flight is not None:
        checks.at_least(1, **{"--in-flight": in_flight})
    if rate_rps is not None:
        checks.positive(**{"--sent-rate": rate_rps})
    contents = [read_content(path) for path in paths]
    contents = [only(content, where) for content in contents] if where else contents
    server = Server.of(scenario, _base(scenario))
    start = _start(server.hardware)
    kind, found = _sorted(contents)
    about: dict[str, Any] = {"files": ", ".join(Path(path).name for path in paths), "name": name}
    if kind == "steps":
        fit, met = steps_fit(contents, server.spec, server.hardware, start)
        return _calibration(kind, server, fit.values, fit.errors, met, unclear=fit.unclear, **about)
    runs = [entry for entry in found if isinstance(entry, EngineRun)]
    points = [_sent(p, in_flight, rate_rps) for entry in found if isinstance(entry, list) for p in entry]
    for run in runs:
        refuse_nonsense_run(run, server.spec)
    refuse_nonsense(points, server.spec, computed=scenario.prompt is None)
    best, met = runs_fit(server, runs, start, tick) if runs else points_fit(server, points, start, tick)
    used = {key: value for key, value in best.values.items() if key != OUTSIDE or points}
    told = [note for run in runs for note in run.notes] + [note for point in points for note in point.notes]
    notes, unclear = tuple(dict.fromkeys(told)), best.unclear
    more: dict[str, Any] = {"unclear": unclear, "alike": best.alike, "notes": notes, **about}
    return _calibration(kind, server, used, best.errors, met, **more)


def _base(scenario: Scenario) -> Hardware:
    """The accelerator; with the shape of a step that the fitted rows share, if it has none of its own."""
    from qtheory.system.replica import replica_of

    card = replica_of(scenario).hardware
    return shaped(card) if card.corner_power is None else card


def _start(card: Hardware) -> dict[str, float]:
    """Values to begin with, which are also those that stay where the measurements do not tell."""
    if card.spread_frac:  # fitted or calibrated before
        known = {name: float(getattr(card, name)) for name in FRACTIONS}
    else:
        known = efficiencies_of(card.name, "vllm").constants()
    return known | {name: float(getattr(card, name)) for name in OVERHEADS} | {OUTSIDE: 5e-3}


def _sorted(contents: Sequence[Content]) -> tuple[str, list[list[BenchPoint] | EngineRun]]:
    """The kind of all files, and what those say that are no tables of steps."""
    kinds, found = [], []
    for content in contents:
        if fits_steps(content):
            kinds.append("steps")
            continue
        measured = measured_of(content)
        kinds.append("requests" if isinstance(measured, EngineRun) else "points")
        found.append(measured)
    if len(set(kinds)) > 1:
        told = ", ".join(f"{c.name} is {_KINDS[kind]}" for c, kind in zip(contents, kinds, strict=True))
        raise ConfigError(f"{told}; give files of one kind")
    return kinds[0], found


def _sent(point: BenchPoint, in_flight: int | None, rate_rps: float | None) -> BenchPoint:
    """The point with how its requests were sent, as the caller says; it is then not asked for."""
    if in_flight is None and rate_rps is None:
        return point
    return replace(
        point,
        in_flight=point.in_flight if in_flight is None else in_flight,
        rate_rps=point.rate_rps if rate_rps is None else rate_rps,
        notes=tuple(note for note in point.notes if not note.endswith("give --in-flight or --sent-rate")),
    )


def _spread(met: Sequence[Met]) -> float:
    """Relative error within which nine of ten token times are met."""
    errors = [abs(entry.error_frac) for entry in met if entry.quantity.startswith(("tpot", "step"))]
    errors = [error for error in errors if math.isfinite(error)]
    return float(np.quantile(errors, 0.9)) if errors else 0.0


def _calibration(
    kind: str,
    server: Server,
    values: Mapping[str, float],
    errors: Mapping[str, float],
    met: Sequence[Met],
    *,
    files: str,
    name: str,
    unclear: tuple[str, ...] = (),
    alike: tuple[tuple[str, str], ...] = (),
    notes: tuple[str, ...] = (),
) -> Calibration:
    own = {key: float(value) for key, value in values.items() if key != OUTSIDE}
    base = server.hardware
    held = f"; not told: {', '.join(unclear)}" if unclear else ""
    hardware = replace(
        base,
        **own,  # type: ignore[arg-type]
        name=name or f"{base.name}-calibrated",
        spread_frac=_spread(met),
        source=f"calibrated on {files} with {server.spec.model.name} from {base.name}{held}; {base.source}",
    )
    return Calibration(
        kind=kind,
        hardware=hardware,
        values=dict(values),
        errors=dict(errors),
        unclear=unclear,
        alike=alike,
        met=tuple(met),
        notes=notes,
    )
