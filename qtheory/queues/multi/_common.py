"""What the models with several servers share: checks of stability and of the answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConvergenceError, UnstableError
from qtheory.numerics.clock import NO_TIME, ClockedLaw
from qtheory.numerics.timelaw import ExponentialSum
from qtheory.queues.result import TimeLaw

__all__ = ["check_little", "exponential_wait", "places_law", "require_stable"]

Floats = NDArray[np.float64]


def require_stable(rate_rps: float, mean_service_s: float, n_servers: int) -> None:
    """Raise `UnstableError` unless the work that comes keeps fewer than all servers busy."""
    load = rate_rps * mean_service_s
    if load >= n_servers * (1.0 - 4e-16):  # rounding of the product
        raise UnstableError(
            f"rate_rps={rate_rps:g} is not below {n_servers / mean_service_s:g} requests/s of n_servers="
            f"{n_servers} (load {load:g}); add servers, lower the rate or shorten the service"
        )


def check_little(rate_rps: float, mean_s: float, mean_number: float, *, rtol: float = 1e-8) -> None:
    """Raise `ConvergenceError` unless number = rate x time (Little's law) within ``rtol``."""
    wanted = rate_rps * mean_s
    if abs(wanted - mean_number) > rtol * max(wanted, mean_number) + 1e-13:
        raise ConvergenceError(
            f"Little's law is violated: {mean_number:.9g} present against {wanted:.9g} = rate x time; "
            "the numerical solution is off"
        )


def exponential_wait(prob_wait: float, rate_per_s: float) -> TimeLaw:
    """Law of a time that is exponential with the probability ``prob_wait`` and zero otherwise."""
    if prob_wait <= 0:
        return NO_TIME
    return ExponentialSum(weights=(prob_wait,), rates_per_s=(rate_per_s,))


def places_law(place: Floats, rate_per_s: float) -> ClockedLaw:
    """Law of the time of k exponential completions, k = 1, 2, ... with the probabilities ``place``."""
    if not len(place):
        return NO_TIME
    return ClockedLaw(clock_per_s=rate_per_s, alive=np.cumsum(place[::-1])[::-1], decay=0.0)
