"""Gauss-Legendre nodes for integrals over the levels of a law, between a few of its quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from qtheory.laws.law import Law

__all__ = ["NODES", "Pieces", "pieces_between"]

Floats = NDArray[np.float64]

NODES = 8
_FALL = 0.5  # share above of the end of a piece to that of its start, from which on the logarithm is divided
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces:
    """m pieces of n nodes each, and their ends."""

    x: Floats  # (m, n + 1) sizes at the nodes and at the end
    mass: Floats  # (m, n)
    rows: Floats  # (m, n + 1, n) integrals over the level from the start of a piece


@lru_cache(maxsize=1)
def _rules() -> tuple[Floats, Floats]:
    """On [0, 1]: Gauss nodes, and the integrals from 0 to each node and to 1."""
    node, weight = legendre.leggauss(NODES)
    fit = np.linalg.inv(legendre.legvander(node, NODES - 1))
    upto = [legendre.legval(node, legendre.legint(e, lbnd=-1)) for e in np.eye(NODES)]
    return (1 + node) / 2, np.vstack([np.stack(upto, 1) @ fit, weight]) / 2


def pieces_between(law: Law, ends: list[float]) -> Pieces:
    """Pieces between increasing levels.

    Sizes have a singularity at the levels 0 and 1, a power or a logarithm: towards 1 the nodes are spread
    evenly in ln(1 - level), and from 0 on in the cube root of the level.
    """
    node, rows = _rules()
    low, high = np.array(list(pairwise(ends))).T[..., None]
    share = (1.0 - high) / (1.0 - low)
    is_late = (share < _FALL) & (high < 1.0) & (low > 0.0)
    fall = np.log(np.where(is_late, share, 0.5))
    late = (1.0 - low) * np.exp(fall * node)  # share above each node
    early = low == 0.0
    level = np.where(is_late, 1.0 - late, low + (high - low) * np.where(early, node**3, node))
    slope = np.where(is_late, -fall * late, (high - low) * np.where(early, 3.0 * node**2, 1.0))
    q = np.concatenate([level, high], axis=1)
    x = np.asarray(law.ppf(np.minimum(q, _BELOW_ONE)), dtype=float)
    whole = rows * slope[:, None, :]
    return Pieces(x=x, mass=whole[:, -1], rows=whole)
