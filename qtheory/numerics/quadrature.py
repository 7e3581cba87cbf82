"""Quadrature on panels that get shorter towards one end."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks

__all__ = ["graded_panels"]

Floats = NDArray[np.float64]


@lru_cache(maxsize=64)
def graded_panels(high: float, *, waves: int = 0, n_halvings: int = 45) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on (0, high), the panels halved again and again towards 0.

    For integrands with a peak near 0 of unknown width, down to ``high`` times 2 to the power -``n_halvings``.

    Parameters
    ----------
    high : float
        Upper end, > 0.
    waves : int
        Largest factor k of terms like sin(k x): panels are kept short against them.
    n_halvings : int
        How often the panel at 0 is halved, >= 1.

    Raises
    ------
    ConfigError
        If a parameter is out of range.

    Examples
    --------
    >>> x, weight = graded_panels(1.0)
    >>> round(float(weight @ (1e-6 / (x**2 + 1e-12))), 6)  # arctan(1e6)
    1.570795
    """
    checks.positive(high=high)
    checks.at_least(0, waves=waves)
    checks.integer(n_halvings=n_halvings)
    stops = [0.0]
    for stop in high * 2.0 ** -np.arange(n_halvings, -1, -1.0):
        pieces = int(np.ceil((stop - stops[-1]) * (waves + 1) / 12))
        stops.extend(np.linspace(stops[-1], stop, pieces + 1)[1:].tolist())
    edges = np.array(stops)
    half, centre = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    node, weight = np.polynomial.legendre.leggauss(32)
    return (centre[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()
