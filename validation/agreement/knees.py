"""The knee of a cell: the largest rate at which 90 % of the requests are good, simulated and predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Knee"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """What was found; a rate of 0 says that even at small loads fewer than 90 % are good.

    Parameters
    ----------
    rate_rps : float or None
        Simulated; None if it could not be bracketed.
    half_frac : float
        Half-width of its 95 % interval, relative.
    predicted_rps : dict
        By tier; left out where a tier does not answer.
    """

    rate_rps: float | None
    half_frac: float
    predicted_rps: dict[str, float] = field(default_factory=dict)

    def error(self, tier: str) -> float | None:
        """Predicted over simulated, less one; infinite if one of the two has no knee and the other has."""
        found = self.predicted_rps.get(tier)
        if found is None or self.rate_rps is None:
            return None
        if self.rate_rps == 0 or found == 0:
            return 0.0 if self.rate_rps == found else math.inf
        return found / self.rate_rps - 1
