"""Reports from the field, put to the simulator as questions; a miss stays visible."""

from __future__ import annotations

from .check import CLAIMS, ClaimResults, check_claims
from .claim import Claim, Compared, Finding, Measured

__all__ = ["CLAIMS", "Claim", "ClaimResults", "Compared", "Finding", "Measured", "check_claims"]
