"""A fixed rule that inverts Laplace transforms of smooth complex functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .inversion import AVERAGED, DAMPING, FIRST_TERMS
from .window import euler_factors

__all__ = ["two_sided_rule"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


def two_sided_rule(ratio: Floats) -> tuple[Complexes, Complexes]:
    """Nodes z and weights w with f(ratio x) = sum of F(z / x) w / x for a smooth complex f of transform F.

    The Euler sum of `invert_laplace` for both signs of the imaginary part, error about 1e-9 of the size of f
    for ratios from 0.35 to 1.

    Parameters
    ----------
    ratio : float array (r,)
        Ratios of the places where f is wanted to the x of the nodes, 0.35 .. 1.

    Returns
    -------
    complex array (node,), complex array (node, r)
        Nodes and weights.

    Examples
    --------
    >>> node, weight = two_sided_rule(np.array([0.5, 1.0]))
    >>> values = (1.0 / (node / 2.0 + 1.0 + 1.0j)) @ weight / 2.0  # of exp(-(1 + i) t) around t = 2
    >>> bool(np.all(np.abs(values - np.exp([-1.0 - 1.0j, -2.0 - 2.0j])) < 1e-8))
    True
    """
    last = FIRST_TERMS + AVERAGED
    node = np.asarray(DAMPING / 2 + 1j * np.pi * np.arange(-last, last + 1), dtype=np.complex128)
    one = euler_factors(ratio, FIRST_TERMS, AVERAGED, DAMPING).T
    return node, np.asarray(np.concatenate([one[:0:-1].conj(), 2 * one[:1], one[1:]]) / 2)
