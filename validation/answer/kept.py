"""Points kept in a file as they are finished, so that an interrupted command can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from qtheory.basics.errors import ConfigError
from qtheory.system.own_scheduler import own_name
from qtheory.system.provenance import Provenance, version
from qtheory.system.results import RunResult, as_entry

from .point import Point, Run, lengthened
from .study import Study

__all__ = ["Keeping", "Kept", "NothingKept", "kept_in"]

_FILES = ("hardware", "model", "step_time", "lengths", "trace")  # fields that may name a file


class Keeping(Protocol):
    """Where finished points go, and where they come from after an interruption."""

    def begin(self, points: Sequence[Point], study: Study) -> dict[int, Run]:
        """Runs that are there already, by the place of their point."""
        ...

    def add(self, point: Point, study: Study, run: Run) -> None:
        """Keep a finished point."""
        ...


class NothingKept:
    """Keeps nothing."""

    def begin(self, points: Sequence[Point], study: Study) -> dict[int, Run]:
        """No runs."""
        return {}

    def add(self, point: Point, study: Study, run: Run) -> None:
        """Forget it."""


def digest(point: Point, study: Study) -> str:
    """What tells a point from any other: version, scenario, contents of the files it names, and the study."""
    named = {
        name: hashlib.sha256(Path(text).read_bytes()).hexdigest()
        for name in _FILES
        if (text := getattr(point.scenario, name)) is not None and Path(text).is_file()
    }
    if (own := own_name(point.scenario.scheduler)) is not None and Path(own.file).is_file():
        named["scheduler"] = hashlib.sha256(Path(own.file).read_bytes()).hexdigest()
    arrivals = repr(point.workload.arrivals)  # which may come from a file too
    said = [version(), asdict(point.scenario), named, arrivals, asdict(study)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]


class Kept:
    """One JSON line a finished point, on the disk before the next one is begun.

    Parameters
    ----------
    path : Path
        The file; made when the first point is finished.
    resume : bool
        True: points that it holds already are not simulated again; False: it is begun anew.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path, self.resume = path, resume

    def begin(self, points: Sequence[Point], study: Study) -> dict[int, Run]:
        """Runs that the file holds, by the place of their point; a last line that was cut is dropped.

        Raises
        ------
        ConfigError
            If the file holds points that are not of this command.
        """
        if not self.path.exists():
            return {}
        if not self.resume:
            self.path.unlink()
            return {}
        places = {digest(point, study): place for place, point in enumerate(points)}
        runs: dict[int, Run] = {}
        for number, entry in enumerate(self._entries(), 1):
            if entry.get("key") not in places:
                raise ConfigError(
                    f"{self.path}: line {number} is of another scenario, version or length of study; "
                    "take the same words as before, or --force without --resume to begin again"
                )
            place = places[entry["key"]]
            runs[place] = _run_from(entry, points[place])
        return runs

    def _entries(self) -> list[dict[str, Any]]:
        """The lines of the file; what stands behind the last whole line is cut off the file."""
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))
        entries = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entries.append(dict(json.loads(line)))
            except (ValueError, TypeError):
                raise ConfigError(
                    f"{self.path}: line {number} is not one of a finished point; "
                    "remove the file, or --force without --resume to begin again"
                ) from None
        return entries

    def add(self, point: Point, study: Study, run: Run) -> None:
        """Write a finished point and wait until it is on the disk."""
        entry = {
            "key": digest(point, study),
            "result": as_entry(run.result),
            "values": run.values,
            "stepwise": run.stepwise,
        }
        try:
            with self.path.open("ab") as file:
                file.write(json.dumps(entry, allow_nan=False).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written ({error.strerror})") from None


def _run_from(entry: dict[str, Any], point: Point) -> Run:
    if point.is_length_free:
        point = lengthened(point, entry["result"]["n_requests"] // entry["result"]["n_replications"])
    scenario = point.scenario
    provenance = asdict(Provenance(scenario=scenario.changed(), seed=scenario.seed))
    return Run(
        scenario=scenario,
        replica=point.replica,
        workload=point.workload,
        result=RunResult.from_dict(entry["result"] | {"provenance": provenance}),
        values={name: tuple(values) for name, values in entry["values"].items()},
        stepwise=entry["stepwise"],
    )


def kept_in(out: Path, *, resume: bool) -> Kept:
    """Points of a command that writes its result to ``out``: beside it, under a name of their own.

    Parameters
    ----------
    out : Path
    resume : bool
        As in `Kept`.

    Examples
    --------
    >>> kept_in(Path("a.json"), resume=False).path.name
    'a.json.partial'
    """
    return Kept(out.with_name(f"{out.name}.partial"), resume=resume)
