"""Who comes in a batch that takes all who came in the one before: of bursts more than in any time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._clumps import Clumps

__all__ = ["come_after"]

Floats = NDArray[np.float64]

_ALWAYS = 1 - 1e-9


def come_after(clumps: Clumps, rate: Floats, before_s: Floats, times_s: Floats) -> Floats:
    r"""Mean number (..., r) that comes within ``times_s``, if somebody came in ``before_s`` just before.

    Where nobody came, somebody comes with probability :math:`1-p(s+t)/p(s)` of no arrivals in a time, and as
    many with the first one as in any time t in which somebody comes, :math:`\lambda t/(1-p(t))`. The rest of
    :math:`\lambda t` is behind those who came.
    """
    if not clumps.is_bursty:
        return np.asarray(rate * times_s)
    none = np.minimum(clumps.none(before_s, rate), _ALWAYS)
    new = (none - clumps.none(before_s + times_s, rate)) / (
        1 - np.minimum(clumps.none(times_s, rate), _ALWAYS)
    )
    return np.asarray(rate * times_s * (1 - new) / (1 - none))
