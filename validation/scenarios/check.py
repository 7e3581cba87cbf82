"""Run behaviour cases and say which hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError
from qtheory.basics.files import read_text

from ._blocks import check_blocks
from ._both import fast_needs
from ._calc import check_calc
from ._case import table, want
from ._disagg import check_disagg
from ._engine import check_engine
from ._order import check_order
from ._radix import check_radix
from ._route import check_route
from .metrics import check_metrics

__all__ = ["CaseResult", "ScenarioResults", "check_scenarios"]

KINDS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "engine": check_engine,
    "blocks": check_blocks,
    "metrics": check_metrics,
    "calc": check_calc,
    "route": check_route,
    "disagg": check_disagg,
    "radix": check_radix,
    "order": check_order,
}
_LARGEST_BYTES = 8_000_000
COMMON = ("id", "kind", "title", "mirrors", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """How one case came out: ``passed``, or ``failed`` with what differs.

    ``stepwise`` says why an engine case ran in the reference engine alone.
    """

    id: str
    kind: str
    outcome: str
    reasons: tuple[str, ...] = ()
    stepwise: str | None = None

    def line(self) -> str:
        """One line of text.

        Examples
        --------
        >>> CaseResult(id="E01-x", kind="engine", outcome="failed", reasons=("a: 1", "b: 2", "c: 3")).line()
        'E01-x ... failed: a: 1 (and 2 more)'
        """
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        reason = f": {' '.join(self.reasons[0].split())}{more}" if self.reasons else ""
        return f"{self.id} ... {self.outcome}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResults:
    """All cases of one check."""

    cases: tuple[CaseResult, ...]

    def count(self, outcome: str) -> int:
        """Cases with this outcome."""
        return sum(case.outcome == outcome for case in self.cases)

    @property
    def n_passed(self) -> int:
        """Cases that hold."""
        return self.count("passed")

    @property
    def n_failed(self) -> int:
        """Cases that do not hold or cannot be read."""
        return self.count("failed")

    @property
    def is_good(self) -> bool:
        """Whether nothing failed."""
        return self.n_failed == 0

    def engines_line(self) -> str:
        """How many engine cases ran in both engines, and why the others did not; empty if there are none."""
        ran = [case for case in self.cases if case.kind == "engine"]
        if not ran:
            return ""
        reasons = Counter(case.stepwise for case in ran if case.stepwise is not None)
        alone = ", ".join(f"{reason} {n}" for reason, n in sorted(reasons.items()))
        tail = f"; in the reference engine alone: {reasons.total()} ({alone})" if alone else ""
        return f"engine cases in both engines: {len(ran) - reasons.total()}{tail}"

    def closing_line(self) -> str:
        """``N passed, N failed``."""
        return f"{self.n_passed} passed, {self.n_failed} failed"

    def text(self) -> str:
        """One line a case, one on the engines, and the closing line."""
        engines = [line] if (line := self.engines_line()) else []
        return "\n".join([*(case.line() for case in self.cases), *engines, self.closing_line()])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a case."""
        return [asdict(case) for case in self.cases]


def check_scenarios(folder: str | Path, only: Sequence[str] | None = None) -> ScenarioResults:
    """Run the cases in a folder, one JSON file a case.

    Parameters
    ----------
    folder : str or Path
        Where the files are.
    only : sequence of str, optional
        Beginnings of the ids to run, such as ``E01`` (default: all).

    Returns
    -------
    ScenarioResults
        In the order of the file names.

    Raises
    ------
    ConfigError
        If the folder is missing or has no case, or no case begins with one of ``only``.

    Examples
    --------
    >>> check_scenarios("no/such/folder")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/folder: no such folder
    """
    path = Path(folder)
    if not path.is_dir():
        raise ConfigError(
            f"{folder}: {'is a file; give a folder of cases' if path.exists() else 'no such folder'}"
        )
    files = sorted(file for file in path.iterdir() if file.suffix == ".json")
    if not files:
        raise ConfigError(f"{folder}: has no case (files named ID.json)")
    names = [file.stem for file in files]
    for wanted in only or ():
        if not wanted or not any(name.startswith(wanted) for name in names):
            ids = [name.split("-")[0] for name in names]
            raise ConfigError(
                f"only: no case begins with {checks.shown(wanted)}{checks.nearest(wanted, ids)}"
            )
    if only:
        files = [file for file in files if file.stem.startswith(tuple(only))]
    return ScenarioResults(cases=tuple(_check_file(file) for file in files))


def _check_file(file: Path) -> CaseResult:
    kind, stepwise = "unknown", None
    try:
        case = _read(file)
        kind = want("case", case, "kind", str)
        if want("case", case, "id", str) != file.stem:
            raise ConfigError(
                f"id: {checks.shown(case['id'])} is not the name of the file, {checks.shown(file.name)}"
            )
        checks.one_of("kind", kind, tuple(KINDS))
        own = {key: value for key, value in case.items() if key not in COMMON}
        reasons = KINDS[kind](own)
        stepwise = fast_needs(own) if kind == "engine" else None
    except ServingError as error:
        reasons = [str(error)]
    except ArithmeticError as error:
        reasons = [f"numbers too large or too small to compute with ({error})"]
    outcome = "failed" if reasons else "passed"
    return CaseResult(id=file.stem, kind=kind, outcome=outcome, reasons=tuple(reasons), stepwise=stepwise)


def _read(file: Path) -> dict[str, Any]:
    content = read_text(file, most_bytes=_LARGEST_BYTES, wanted="a case in JSON")
    try:
        return table("case", json.loads(content))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not valid JSON ({error})") from None
