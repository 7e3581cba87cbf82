"""Answer claims and say which hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from . import (
    aibrix,
    cached_prefix_floor,
    distserve,
    fcfs_cliff,
    first_chunk_thrash,
    free_hits_over_admit,
    goodput_over_rates,
    head_of_line,
    kubeai,
    lifo_under_overload,
    littles_law,
    longest_prefix_starves,
    mlperf,
    mooncake_trace,
    mooncake_transfer,
    overload_grows,
    overload_preempts,
    prefill_stalls,
    retry_storm,
    sarathi,
    shared_budget,
    shedding_above_the_limit,
    slora,
    slora_draws,
    splitwise,
    stalls_under_load,
    two_phases,
    vtc,
    watermark_preemptions,
)
from .claim import Claim, Finding

__all__ = ["CLAIMS", "ClaimResult", "ClaimResults", "check_claims"]

CLAIMS: dict[str, Claim] = {
    module.CLAIM.name: module.CLAIM
    for module in (
        watermark_preemptions,
        prefill_stalls,
        two_phases,
        head_of_line,
        stalls_under_load,
        shared_budget,
        first_chunk_thrash,
        free_hits_over_admit,
        longest_prefix_starves,
        lifo_under_overload,
        cached_prefix_floor,
        littles_law,
        overload_grows,
        overload_preempts,
        fcfs_cliff,
        goodput_over_rates,
        shedding_above_the_limit,
        retry_storm,
        mlperf,
        distserve,
        mooncake_trace,
        mooncake_transfer,
        vtc,
        slora,
        slora_draws,
        aibrix,
        kubeai,
        splitwise,
        sarathi,
    )
}
"""All claims by name."""


_NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """A claim with its answer, or with what is missing for one.

    Parameters
    ----------
    claim : Claim
    finding : Finding or None
        None if it was not run.
    missing : str
        Why it was not run; empty if it was.
    """

    claim: Claim
    finding: Finding | None
    missing: str = ""

    @property
    def outcome(self) -> str:
        """``passed``, ``failed`` or ``not run``."""
        if self.finding is None:
            return _NOT_RUN
        return "passed" if self.finding.holds else "failed"

    def text(self) -> str:
        """A line for the claim, then what it is about, what was found, and what a miss teaches."""
        claim, finding = self.claim, self.finding
        if finding is None:
            return f"{claim.name} ... {_NOT_RUN}: {self.missing}"
        lines = [
            f"{claim.name} ... {self.outcome}: {claim.question}",
            f"  source: {claim.source}",
            f"  calibrated: {claim.calibrated}",
        ]
        lines += [f"  point: {point.text()}" for point in finding.points]
        lines += [f"  note: {note}" for note in finding.notes]
        for part in finding.parts:
            lines.append(f"  {'holds' if part.holds else 'MISSED'}: {part.what}: {part.found}")
        if not finding.holds:
            lines.append(f"  a miss says: {claim.teaches}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResults:
    """All claims that were asked for."""

    results: tuple[ClaimResult, ...]

    def _number(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)

    @property
    def n_passed(self) -> int:
        """Claims that hold."""
        return self._number("passed")

    @property
    def n_failed(self) -> int:
        """Claims that do not."""
        return self._number("failed")

    @property
    def n_not_run(self) -> int:
        """Claims whose data were not given."""
        return self._number(_NOT_RUN)

    @property
    def is_good(self) -> bool:
        """Whether none failed."""
        return self.n_failed == 0

    def text(self) -> str:
        """All claims, then ``N passed, N failed``, and how many were not run if some were not."""
        closing = f"{self.n_passed} passed, {self.n_failed} failed"
        if self.n_not_run:
            closing += f", {self.n_not_run} not run"
        return "\n".join([*(result.text() for result in self.results), closing])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a thing that must hold; one row without such a thing for a claim not run."""
        rows = []
        for result in self.results:
            begin = {"claim": result.claim.name, "outcome": result.outcome}
            if result.finding is None:
                rows.append({**begin, "what": result.missing, "found": None, "holds": None})
            else:
                rows += [{**begin, **asdict(part)} for part in result.finding.parts]
        return rows

    def points(self) -> list[dict[str, Any]]:
        """Plain data, a row a published measurement, beside what was found for it."""
        return [
            {"claim": result.claim.name, **asdict(point), "error": point.error}
            for result in self.results
            if result.finding is not None
            for point in result.finding.points
        ]

    def told(self) -> list[dict[str, str]]:
        """Plain data, a row a claim: what it asks, and where that is from."""
        keys = ("name", "question", "source", "calibrated", "teaches")
        return [{key: getattr(result.claim, key) for key in keys} for result in self.results]


def check_claims(names: Sequence[str] = (), *, data: str | Path | None = None) -> ClaimResults:
    """Answer the claims of these names (default: all).

    Parameters
    ----------
    names : sequence of str
    data : str or Path, optional
        Folder of published measurements; a claim that reads files is not run where they are missing.

    Raises
    ------
    ConfigError
        If there is no such claim or folder, or a file is not what it should be.

    Examples
    --------
    >>> check_claims(["prefill-stalls"]).n_passed
    1
    >>> print(check_claims(["mlperf"]).text())
    mlperf ... not run: needs --data
    0 passed, 0 failed, 1 not run
    """
    for name in names:
        if name not in CLAIMS:
            near = checks.nearest(name, CLAIMS)
            raise ConfigError(f"claim: unknown {checks.shown(name)}{near}; one of {', '.join(CLAIMS)}")
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"data: {folder} is not a folder")
    chosen = dict.fromkeys(names or CLAIMS)
    return ClaimResults(results=tuple(_answered(CLAIMS[name], folder) for name in chosen))


def _answered(claim: Claim, folder: Path | None) -> ClaimResult:
    if not claim.needs:
        return ClaimResult(claim=claim, finding=claim.answer())
    if folder is None:
        return ClaimResult(claim=claim, finding=None, missing="needs --data")
    lacking = [name for name in claim.needs if not (folder / name).is_file()]
    if lacking:
        return ClaimResult(claim=claim, finding=None, missing=f"{folder} has no {', '.join(lacking)}")
    return ClaimResult(claim=claim, finding=claim.answer(folder))
