"""How far a predicted knee can be off, and how likely a fleet misses its limits for that reason."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtrit

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware

from .knee_errors import known_error

__all__ = ["Doubt", "doubt_of"]

_SPREAD = 1.645  # half of a normal law's central nine tenths, in standard deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Errors of a knee as relative numbers: predicted over true, less one.

    Parameters
    ----------
    bias_frac : float
        In the mean, > -1; above zero the prediction is too high.
    model_frac : float
        Standard deviation of the model against the simulator, >= 0.
    steps_frac : float
        Standard deviation that step times against measurements add, >= 0; 0 where nothing was measured.
    n_systems : int
        On how many systems the first two were measured; 0 for numbers that are known exactly.
    measured : str
        What these were.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> sure, unsure = Doubt(model_frac=0.02), Doubt(model_frac=0.1)
    >>> [round(doubt.miss_prob(9.5, 10.0), 3) for doubt in (sure, unsure)]
    [0.005, 0.304]
    """

    bias_frac: float = 0.0
    model_frac: float = 0.0
    steps_frac: float = 0.0
    n_systems: int = 0
    measured: str = ""

    def __post_init__(self) -> None:
        checks.non_negative(model_frac=self.model_frac, steps_frac=self.steps_frac)
        if not self.bias_frac > -1:
            raise ConfigError(f"bias_frac: {checks.shown(self.bias_frac)} must be > -1")

    @property
    def total_frac(self) -> float:
        """Standard deviation of both together."""
        return math.hypot(self.model_frac, self.steps_frac)

    def miss_prob(self, rate_rps: float, knee_rps: float) -> float:
        """Probability that the true knee is below a rate, its logarithm being normal."""
        middle = math.log(knee_rps / (1 + self.bias_frac))
        distance = math.log(rate_rps) - middle
        if not self.total_frac:
            return float(distance > 0)
        return float(ndtr(distance / self.total_frac))

    def interval(self, knee_rps: float, level: float, *, stretch: float = 1.0) -> tuple[float, float]:
        """Where the true knee is, given a prediction; the middle is off the prediction by the bias.

        Parameters
        ----------
        knee_rps : float
            Predicted, requests per second, > 0.
        level : float
            Coverage, in (0, 1): Student's law, for mean and spread are known from few systems.
        stretch : float
            Relative change of the knee for a relative change of all step times.
        """
        tail = 0.5 * (1 + level)
        of_model = self.model_frac * float(ndtri(tail))
        if self.n_systems > 1:
            of_model = self.model_frac * math.sqrt(1 + 1 / self.n_systems)
            of_model *= float(stdtrit(self.n_systems - 1, tail))
        half = math.hypot(of_model, stretch * self.steps_frac * float(ndtri(tail)))
        middle = knee_rps / (1 + self.bias_frac)
        return middle * math.exp(-half), middle * math.exp(half)


_SIMULATED_FRAC = 0.01


def doubt_of(
    answered_by: str,
    binds: str | None,
    hardware: Hardware,
    *,
    scheduler: str | None = None,
    is_bursty: bool = False,
) -> Doubt:
    """What was seen of the errors of a way to answer, on the systems of ``knee_errors.csv``.

    Parameters
    ----------
    answered_by : str
        As in `Curve`.
    binds : str or None
        What binds; where it is KV memory the predictions err in another way.
    hardware : Hardware
        Says how well its step times meet measurements.
    scheduler : str, optional
        Which must have been measured; without one all that go step by step stand for it.
    is_bursty : bool
        Whether arrivals are bursty instead of Poisson.

    Raises
    ------
    ConfigError
        If nothing is known of this way to answer, or nothing was measured that is like this.

    Examples
    --------
    >>> from qtheory.system.hardware import find_hardware
    >>> closed = doubt_of("theory, closed", "slots", find_hardware("h100"))
    >>> closed.model_frac > doubt_of("theory, numeric", "slots", find_hardware("h100")).model_frac
    True
    """
    steps = hardware.spread_frac / _SPREAD
    tier = answered_by.rpartition(", ")[2]
    if tier == "simulation":
        return Doubt(model_frac=_SIMULATED_FRAC, steps_frac=steps, measured="the simulation itself")
    checks.one_of("answered_by", tier, ["closed", "numeric"])
    is_tight = binds == "KV memory"
    known = known_error(tier, scheduler, is_tight, is_bursty)
    kind = f"{'bursts' if is_bursty else 'Poisson'}, KV memory {'binds' if is_tight else 'does not bind'}"
    if known is None:
        raise ConfigError(f"errors of knees were not measured: {scheduler or 'any scheduler'}, {kind}")
    return Doubt(
        bias_frac=known.bias_frac,
        model_frac=known.spread_frac,
        steps_frac=steps,
        n_systems=known.n_systems,
        measured=f"{known.n_systems} simulated knees, {kind}",
    )
