"""Replay the cases of a folder and hold them against the published answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError
from qtheory.basics.files import read_text, shown_name

from ._case import Case, Shelf, read_case
from ._expected import Row, cell
from ._figures import by_request, totals
from ._reading import listed, only_keys, table, taken
from ._replay import replay

__all__ = ["CaseOutcome", "Comparison", "PeerResults", "check_peer"]

_KEYS = ("tokens_per_hash_id", "prefix_cache", "cases", "rules", "step_time")
_LARGEST_BYTES = 8_000_000
_UNIT = {"_ms": " ms", "_rps": " req/s", "_tok_s": " tokens/s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One published figure and ours. ``allowed`` is in its unit; None: shown, not judged."""

    place: str
    column: str
    expected: float
    got: float
    allowed: float | None

    @property
    def off(self) -> float:
        """How far ours is from it."""
        return abs(self.got - self.expected)

    @property
    def is_good(self) -> bool:
        """Whether it is within what is allowed; a figure that is missing never is."""
        return self.allowed is None or self.off <= self.allowed * (1 + 1e-9) + 1e-9

    @property
    def used_frac(self) -> float:
        """Share of what is allowed, or of the figure itself if nothing is said."""
        whole = self.allowed if self.allowed is not None else abs(self.expected)
        if math.isnan(self.off):
            return math.inf
        return self.off / whole if whole else (math.inf if self.off > 1e-9 else 0.0)

    def text(self) -> str:
        """For a person."""
        unit = next((unit for end, unit in _UNIT.items() if self.column.endswith(end)), "")
        got = "none" if math.isnan(self.got) else f"{self.got:.6g}"
        said = f"{self.place}{self.column}: expected {self.expected:.6g}{unit}, got {got}"
        if math.isnan(self.got):
            return said
        share = f", {self.off / abs(self.expected):.2%}" if self.expected else ""
        bound = "" if self.allowed is None else f"; {self.allowed:.3g} allowed"
        return f"{said} ({self.off:.3g}{share} off{bound})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """How a case came out: ``passed``, ``failed`` or ``informative``, with every figure compared."""

    id: str
    outcome: str
    n_compared: int
    n_off: int
    comparisons: tuple[Comparison, ...] = ()
    error: str = ""

    def line(self) -> str:
        """One line of text."""
        head = f"{self.id} ... {self.outcome}: "
        if self.error:
            return head + self.error
        worst = max(self.comparisons, key=lambda one: (not one.is_good, one.used_frac))
        if self.outcome == "failed":
            first = next(one for one in self.comparisons if not one.is_good)
            more = f" (and {self.n_off - 1} more)" if self.n_off > 1 else ""
            return head + first.text() + more
        judged = sum(one.allowed is not None for one in self.comparisons)
        counted = f"{judged} figures" if judged else f"{self.n_compared} figures, not judged"
        return head + (f"{counted}, furthest {worst.text()}" if worst.off > 1e-9 else f"{counted}, all equal")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerResults:
    """All cases of a folder."""

    cases: tuple[CaseOutcome, ...]

    def count(self, outcome: str) -> int:
        """Cases with this outcome."""
        return sum(case.outcome == outcome for case in self.cases)

    @property
    def n_passed(self) -> int:
        """Cases within their tolerance."""
        return self.count("passed")

    @property
    def n_failed(self) -> int:
        """Cases outside it."""
        return self.count("failed")

    @property
    def is_good(self) -> bool:
        """Whether nothing failed."""
        return self.n_failed == 0

    def text(self) -> str:
        """One line a case, then ``N passed, N failed``."""
        closing = f"{self.n_passed} passed, {self.n_failed} failed"
        return "\n".join([*(case.line() for case in self.cases), closing])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a case."""
        return [
            {
                "id": case.id,
                "outcome": case.outcome,
                "n_compared": case.n_compared,
                "n_off": case.n_off,
                "said": case.line().partition(" ... ")[2],
            }
            for case in self.cases
        ]

    def comparisons(self) -> list[dict[str, Any]]:
        """Plain data, a row a figure."""
        return [{"id": case.id, **asdict(one)} for case in self.cases for one in case.comparisons]


def check_peer(folder: str | Path, only: Sequence[str] | None = None) -> PeerResults:
    """Replay the cases that a folder's ``settings.json`` describes.

    Parameters
    ----------
    folder : str or Path
        Where the settings, traces and answers are.
    only : sequence of str, optional
        Beginnings of the ids of the cases to replay (default: all).

    Returns
    -------
    PeerResults
        In the order of the settings.

    Raises
    ------
    ConfigError
        If the folder or a file of it is missing, a key is unknown or a line malformed; nothing is replayed
        then.

    Examples
    --------
    >>> check_peer("no/such/folder")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/folder: no such folder
    """
    cases = _read(Path(folder), folder)
    for wanted in only or ():
        if not wanted or not any(case.id.startswith(wanted) for case in cases):
            near = checks.nearest(wanted, [case.id for case in cases])
            raise ConfigError(f"only: no case begins with {checks.shown(wanted)}{near}")
    chosen = [case for case in cases if not only or case.id.startswith(tuple(only))]
    return PeerResults(cases=tuple(_check(case) for case in chosen))


def _read(path: Path, folder: str | Path) -> list[Case]:
    name = shown_name(folder)
    if not path.is_dir():
        what = "is a file; give a folder with settings.json" if path.exists() else "no such folder"
        raise ConfigError(f"{name}: {what}")
    file = path / "settings.json"
    content = read_text(file, most_bytes=_LARGEST_BYTES, wanted="settings in JSON")
    try:
        settings = table("settings.json", json.loads(content))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{shown_name(file)}: not valid JSON ({error})") from None
    only_keys("settings.json", settings, _KEYS)
    for key in ("cases", "rules"):
        taken("settings.json", settings, key)
    shelf = Shelf(path, settings)
    cases = []
    for index, given in enumerate(listed("settings.json: cases", settings["cases"])):
        place = f"settings.json: cases[{index}]"
        cases.append(read_case(place, table(place, given), shelf))
    ids = [case.id for case in cases]
    twice = next((id_ for i, id_ in enumerate(ids) if id_ in ids[:i]), None)
    if twice is not None:
        raise ConfigError(f"settings.json: id {checks.shown(twice)} comes twice; give each case its own")
    return cases


def _check(case: Case) -> CaseOutcome:
    try:
        found = tuple(_comparisons(case))
    except ConfigError:
        raise
    except ServingError as error:
        outcome = "failed" if case.tolerance else "informative"
        return CaseOutcome(id=case.id, outcome=outcome, n_compared=0, n_off=0, error=str(error))
    if not found:
        raise ConfigError(f"{case.where}: no column of the answers is one that can be compared")
    n_off = sum(not one.is_good for one in found)
    outcome = "informative" if case.tolerance is None else "failed" if n_off else "passed"
    return CaseOutcome(id=case.id, outcome=outcome, n_compared=len(found), n_off=n_off, comparisons=found)


def _comparisons(case: Case) -> Iterator[Comparison]:
    if case.is_by_request:
        columns = by_request(replay(case), case.trace.lines)
        for row in case.rows:
            index = int(float(row["request"]))
            got = {name: float(column[index]) for name, column in columns.items()}
            yield from _of_row(case, row, got.get, place=f"request {index} ", offered_rps=math.nan)
        return
    for scale, row in case.rates or [(1.0, row) for row in case.rows]:
        figure = totals(replay(case, scale), case.slo)
        place = f"at {scale:g} req/s " if case.rates else ""
        yield from _of_row(case, row, figure, place=place, offered_rps=scale)


def _of_row(case: Case, row: Row, figure: Any, *, place: str, offered_rps: float) -> Iterator[Comparison]:
    for column in row:
        expected, got = None, figure(column)
        if got is not None:
            expected = cell(case.where, row, column)
        if got is None or expected is None:
            continue
        allowed = None
        if case.tolerance is not None:
            allowed = case.tolerance.allowed(column, expected, offered_rps=offered_rps)
        yield Comparison(place=place, column=column, expected=expected, got=got, allowed=allowed)
