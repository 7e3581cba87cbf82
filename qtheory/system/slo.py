"""Service level objectives: the limits a request must meet to count as good."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks

__all__ = ["Slo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Limits on one request, inclusive; ``None`` leaves a quantity free.

    Parameters
    ----------
    ttft_s : float or None
        Longest time to first token, seconds, > 0.
    tpot_s : float or None
        Longest mean time per output token after the first, seconds, > 0. A one-token output meets it.
    e2e_s : float or None
        Longest time from arrival to last token, seconds, > 0.

    Raises
    ------
    ConfigError
        If a limit is not a finite number above zero.

    Examples
    --------
    >>> Slo(ttft_s=2.0, tpot_s=0.1)
    Slo(ttft_s=2.0, tpot_s=0.1, e2e_s=None)
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    def __post_init__(self) -> None:
        limits = {"ttft_slo_s": self.ttft_s, "tpot_slo_s": self.tpot_s, "e2e_slo_s": self.e2e_s}
        checks.positive(**{name: limit for name, limit in limits.items() if limit is not None})
