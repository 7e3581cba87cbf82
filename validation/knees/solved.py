"""Runs of a queue whose knee is known, in place of those of an engine: M/M/1, late is who waits too long."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from validation.refine import Plan, Sample

__all__ = ["SolvedQueue"]

_CUT_FRAC = 0.2  # of a run, from its empty start: as much as of an engine's
_BAD_FRAC = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedQueue:
    r"""Simulated M/M/1 with a mean of one second, of which a tenth waits too long at a given rate.

    The limit of the wait is where :math:`P(W>t)=\rho e^{-(1-\rho)t}` [1]_ is a tenth. Called as
    `validation.refine.sample` is, of whose plan only the seed counts.

    Parameters
    ----------
    knee_rps : float
        Requests per second, above the tenth that is late and below 1.

    Raises
    ------
    ConfigError
        If it is not in (0.1, 1).

    References
    ----------
    .. [1] Kleinrock (1975), "Queueing systems, volume I", section 5.7.

    Examples
    --------
    >>> round(SolvedQueue(knee_rps=0.85).limit_s, 2), round(SolvedQueue(knee_rps=0.85).slope, 1)
    (14.27, 13.1)
    """

    knee_rps: float

    def __post_init__(self) -> None:
        checks.inner_fraction(knee_rps=self.knee_rps)
        if self.knee_rps <= _BAD_FRAC:
            raise ConfigError(
                f"knee_rps={self.knee_rps:g} is not above {_BAD_FRAC:g}, the share that is late there"
            )

    @property
    def limit_s(self) -> float:
        """The longest wait that is not too long."""
        return math.log(self.knee_rps / _BAD_FRAC) / (1 - self.knee_rps)

    @property
    def slope(self) -> float:
        """Relative growth of the share of late requests for a relative growth of the rate, at the knee."""
        return 1 + self.knee_rps * self.limit_s

    def __call__(self, plan: Plan, rate_rps: float, n_requests: int, index: int) -> Sample:
        """One run at a rate, by Lindley's recursion from an empty start."""
        rng = np.random.default_rng([index, plan.scenario.seed])
        gap_s, work_s = rng.exponential(1 / rate_rps, n_requests), rng.exponential(1.0, n_requests)
        steps = np.concatenate([[0.0], np.cumsum(work_s[:-1] - gap_s[1:])])
        wait_s = steps - np.minimum.accumulate(steps)
        cut = int(_CUT_FRAC * n_requests)
        bad_frac = float((wait_s[cut:] > self.limit_s).mean())
        return Sample(
            rate_rps=rate_rps,
            n_requests=n_requests,
            bad_frac=bad_frac,
            ahead_frac=float(work_s[cut:].mean() - gap_s[cut:].mean() * rate_rps),
            n_effective=1.0,
            missed={"TTFT": bad_frac},
            mean_e2e_s=float((wait_s + work_s)[cut:].mean()),
            waits={},
        )
