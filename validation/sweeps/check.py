"""Run the sweeps of a manifest through simulator and theory, and judge what it wants judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from qtheory.basics.errors import ConfigError, ServingError

from .calibrated import calibrated
from .compared import Pair, compare
from .manifest import read_manifest
from .measured import Row, read_rows
from .predicted import predict_row
from .result import Route, SweepResult, SweepResults
from .served import Fitted, ServedRow
from .simulated import run_row
from .sweep import Sweep

__all__ = ["SweepResults", "check_sweeps"]

Ask = Callable[[Sweep, Row, Fitted], ServedRow]


def check_sweeps(path: str | Path, *, data: str | Path | None = None) -> SweepResults:
    """Every sweep of a manifest, calibrated as it says, by both routes.

    Parameters
    ----------
    path : str or Path
        Manifest, as `read_manifest` reads.
    data : str or Path, optional
        Folder of the data files (default: that of the manifest).

    Raises
    ------
    ConfigError
        If the manifest or a data file cannot be used (one line that says where and what).

    Examples
    --------
    >>> check_sweeps("no/such/manifest.toml")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/manifest.toml: cannot be read: no such file
    """
    sweeps = [(sweep, read_rows(sweep)) for sweep in read_manifest(path, data=data)]
    fits: dict[str, Fitted] = {}
    for sweep, _ in sweeps:
        own = [pair for pair in sweeps if pair[0].role == "calibrate" and pair[0].group == sweep.group]
        if sweep.role == "datasheet" or sweep.group in fits:
            continue
        if not own:
            raise ConfigError(f"{sweep.where}: group {sweep.group!r} has no sweep with role 'calibrate'")
        fits[sweep.group] = calibrated(own)
    return SweepResults(results=tuple(_result(sweep, rows, sweeps, fits) for sweep, rows in sweeps))


def _result(
    sweep: Sweep, rows: Sequence[Row], sweeps: Sequence[tuple[Sweep, Sequence[Row]]], fits: dict[str, Fitted]
) -> SweepResult:
    fitted = Fitted() if sweep.role == "datasheet" else fits[sweep.group]
    on = [
        f"{other.name} ({len(some)} rows)"
        for other, some in sweeps
        if other.role == "calibrate" and other.group == sweep.group
    ]
    return SweepResult(
        sweep=sweep,
        rows=tuple(rows),
        fitted=fitted,
        calibrated_on=() if sweep.role == "datasheet" else tuple(on),
        routes=tuple(_route(name, ask, sweep, rows, fitted) for name, ask in _ROUTES.items()),
    )


def _route(name: str, ask: Ask, sweep: Sweep, rows: Sequence[Row], fitted: Fitted) -> Route:
    pairs: list[Pair] = []
    refused: dict[str, None] = {}
    for row in rows:
        try:
            pairs.append((row, ask(sweep, row, fitted)))
        except ServingError as error:
            if name == "simulator":
                raise ConfigError(f"{sweep.where}: {error}") from None
            refused[str(error)] = None
            pairs.append((row, None))
    return Route(
        name=name,
        served=tuple(served for _, served in pairs),
        compared=tuple(compare(sweep, pairs)),
        refused=tuple(refused),
    )


_ROUTES: dict[str, Ask] = {"simulator": run_row, "theory": predict_row}
