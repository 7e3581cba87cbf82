"""The interval of a predicted knee: what is known of the model's error, and of the step times'."""

from __future__ import annotations

import math
from dataclasses import replace

from qtheory.basics.errors import ConfigError, ServingError
from qtheory.basics.units import percent
from qtheory.system.slo import Slo
from qtheory.system.workload import GammaArrivals, PoissonArrivals

from .fleet_doubt import Doubt, doubt_of
from .marks import Knee, marks
from .theory import Theory

__all__ = ["INTERVAL", "NO_INTERVAL", "with_interval"]

INTERVAL, NO_INTERVAL = "interval", "no interval"
"""First words of the note on an interval."""

_MEASURED_FRAC = 0.9
"""Share of good requests at the knees that were measured."""
_FAR_FRAC = 0.1
_BURSTY_SCV = 4.0
"""Squared coefficient of variation of the gaps of those with bursts."""


def with_interval(found: Knee, theory: Theory, *, level: float = 0.95) -> Knee:
    """A predicted knee with its interval, or with a note that says why it has none.

    Predicted over simulated knees of other systems give a mean and a spread of the model's error. Where
    the accelerator has efficiencies that were fitted to measured steps, all its steps are taken to be off
    alike, by as much as nine in ten of the measured ones were at most. Steps that take c times as long have
    the knee of limits that are c times as short, divided by c: so the formulas tell what that does.

    Parameters
    ----------
    found : Knee
        Answered by theory.
    theory : Theory
        What it is of.
    level : float
        Coverage, in (0, 1).

    Examples
    --------
    >>> from qtheory.system.replica import replica_of
    >>> from qtheory.system.scenario import Scenario
    >>> from qtheory.system.workload.from_scenario import workload_of
    >>> scenario = Scenario(hardware="a100", model="llama-3.1-8b", workload="rag")
    >>> theory = Theory(
    ...     replica=replica_of(scenario), workload=workload_of(scenario), scheduler="chunked", tier="closed")
    >>> found = with_interval(marks(theory), theory)
    >>> found.knee_rps_low < found.knee_rps < found.knee_rps_high
    True
    """
    if not found.knee_rps:
        return found
    try:
        doubt = _doubt(found, theory)
    except ServingError as error:
        return replace(found, notes=(*found.notes, f"{NO_INTERVAL}: {error}"))
    stretch = _stretch(theory, doubt, found.goodput_frac) if doubt.steps_frac else 0.0
    low, high = doubt.interval(found.knee_rps, level, stretch=stretch)
    said = (
        f"{INTERVAL} at {percent(level)}: this tier was {100 * doubt.bias_frac:+.1f} % off, "
        f"sd {100 * doubt.model_frac:.1f} %, on {doubt.measured}"
    )
    if math.hypot(doubt.bias_frac, doubt.model_frac) > _FAR_FRAC:
        said += ", which is far: simulate it"
    if doubt.steps_frac:
        said += f"; steps of {theory.replica.hardware.name} off by {100 * doubt.steps_frac:.1f} %"
        said += f" (sd) move it {stretch:.1f} times as much"
    return replace(found, knee_rps_low=low, knee_rps_high=high, notes=(*found.notes, said))


def _doubt(found: Knee, theory: Theory) -> Doubt:
    """What was measured of knees like this one.

    Raises
    ------
    ConfigError
        If nothing was.
    """
    if not math.isclose(found.goodput_frac, _MEASURED_FRAC):
        raise ConfigError(f"errors were measured of knees at {100 * _MEASURED_FRAC:g} % good")
    arrivals = theory.workload.arrivals
    is_bursty = isinstance(arrivals, GammaArrivals) and math.isclose(arrivals.scv, _BURSTY_SCV)
    if not (is_bursty or isinstance(arrivals, PoissonArrivals)):
        raise ConfigError(f"errors were not measured with arrivals {arrivals}")
    return doubt_of(
        found.answered_by,
        found.binds,
        theory.replica.hardware,
        scheduler=theory.scheduler,
        is_bursty=is_bursty,
    )


def _stretch(theory: Theory, doubt: Doubt, goodput_frac: float) -> float:
    """Relative change of the knee for one of all step times, by closed forms; 1 where they do not tell."""
    slower = 1 + doubt.steps_frac
    slo = theory.workload.slo
    names = ("ttft_s", "tpot_s", "e2e_s")
    limits = {name: None if (own := getattr(slo, name)) is None else own / slower for name in names}
    tighter = replace(theory.workload, slo=Slo(**limits))
    base = theory.closed
    try:
        before = marks(base, goodput_frac).knee_rps
        after = marks(replace(base, workload=tighter, _seen={}), goodput_frac).knee_rps
    except ServingError:
        return 1.0
    if not before or not after:
        return 1.0
    return math.log(before / (after / slower)) / math.log(slower)
