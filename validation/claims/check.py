"""Answer claims and say which hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from . import (
    cached_prefix_floor,
    fcfs_cliff,
    first_chunk_thrash,
    lifo_under_overload,
    littles_law,
    longest_prefix_starves,
    overload_grows,
    prefill_stalls,
    retry_storm,
    shedding_above_the_limit,
    watermark_preemptions,
)
from .claim import Claim, Finding

__all__ = ["CLAIMS", "ClaimResult", "ClaimResults", "check_claims"]

CLAIMS: dict[str, Claim] = {
    module.CLAIM.name: module.CLAIM
    for module in (
        watermark_preemptions,
        prefill_stalls,
        first_chunk_thrash,
        longest_prefix_starves,
        lifo_under_overload,
        cached_prefix_floor,
        littles_law,
        overload_grows,
        fcfs_cliff,
        shedding_above_the_limit,
        retry_storm,
    )
}
"""All claims by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """A claim with its answer."""

    claim: Claim
    finding: Finding

    @property
    def outcome(self) -> str:
        """``passed`` or ``failed``."""
        return "passed" if self.finding.holds else "failed"

    def text(self) -> str:
        """A line for the claim, then what it is about, what was found, and what a miss teaches."""
        claim = self.claim
        lines = [
            f"{claim.name} ... {self.outcome}: {claim.question}",
            f"  source: {claim.source}",
            f"  calibrated: {claim.calibrated}",
        ]
        for part in self.finding.parts:
            lines.append(f"  {'holds' if part.holds else 'MISSED'}: {part.what}: {part.found}")
        if not self.finding.holds:
            lines.append(f"  a miss says: {claim.teaches}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResults:
    """All claims that were asked for."""

    results: tuple[ClaimResult, ...]

    @property
    def n_passed(self) -> int:
        """Claims that hold."""
        return sum(result.finding.holds for result in self.results)

    @property
    def n_failed(self) -> int:
        """Claims that do not."""
        return len(self.results) - self.n_passed

    @property
    def is_good(self) -> bool:
        """Whether all hold."""
        return self.n_failed == 0

    def text(self) -> str:
        """All claims, then ``N passed, N failed``."""
        closing = f"{self.n_passed} passed, {self.n_failed} failed"
        return "\n".join([*(result.text() for result in self.results), closing])

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, a row a thing that must hold."""
        return [
            {"claim": result.claim.name, "outcome": result.outcome, **asdict(part)}
            for result in self.results
            for part in result.finding.parts
        ]

    def told(self) -> list[dict[str, str]]:
        """Plain data, a row a claim: what it asks, and where that is from."""
        keys = ("name", "question", "source", "calibrated", "teaches")
        return [{key: getattr(result.claim, key) for key in keys} for result in self.results]


def check_claims(names: Sequence[str] = ()) -> ClaimResults:
    """Answer the claims of these names (default: all).

    Parameters
    ----------
    names : sequence of str

    Raises
    ------
    ConfigError
        If there is no such claim.

    Examples
    --------
    >>> check_claims(["prefill-stalls"]).n_passed
    1
    """
    for name in names:
        if name not in CLAIMS:
            near = checks.nearest(name, CLAIMS)
            raise ConfigError(f"claim: unknown {checks.shown(name)}{near}; one of {', '.join(CLAIMS)}")
    chosen = dict.fromkeys(names or CLAIMS)
    answers = [ClaimResult(claim=CLAIMS[name], finding=CLAIMS[name].answer()) for name in chosen]
    return ClaimResults(results=tuple(answers))
