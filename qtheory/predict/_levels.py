"""Stationary law of a chain on levels that moves down by one level at most: elimination of whole levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

__all__ = ["law_on_levels"]

Floats = NDArray[np.float64]


def law_on_levels(moves: Callable[[int], Sequence[Floats]], n_levels: int, reference: int) -> Floats:
    """Law (n_levels, n) of a chain on levels of n cells, up to a factor.

    The chain watched only while it is on fewer levels is a chain again [1]_: those above ``reference`` are
    taken out from the highest down, those below it from the lowest up, so that nothing small is divided by.

    Parameters
    ----------
    moves : callable (int) -> sequence of arrays, shape (n, n)
        Out of a level: one level down, to the same one, one up, two up, ...; what leads beyond the lowest or
        highest level stays there.
    n_levels : int
        >= 1.
    reference : int
        A level that is often visited.

    References
    ----------
    .. [1] Grassmann, Taksar and Heyman (1985), "Regenerative analysis and steady state distributions for
       Markov chains", Operations Research 33, 1107-1116.
    """
    blocks = [_folded(moves(j), j, n_levels) for j in range(n_levels)]
    factors = _from_above(blocks, reference)
    ways = _from_below(blocks, reference)
    law = np.zeros((n_levels, len(blocks[0][1])))
    law[reference] = _balanced(blocks[reference][1])
    for j in range(reference - 1, -1, -1):
        law[j] = law[j + 1] @ ways[j]
    for j in range(reference + 1, n_levels):
        come = sum(law[j - k] @ blocks[j - k][k + 1] for k in _jumps(blocks, j))
        law[j] = lu_solve(factors[j], come, trans=1, check_finite=False)
    return law


def _folded(moves: Sequence[Floats], j: int, n_levels: int) -> list[Floats]:
    """The same without moves beyond the lowest and the highest level."""
    found = list(moves)
    if j == 0:
        found[1] = found[1] + found[0]
    top = n_levels - j  # of the move to the highest level
    for beyond in found[top + 1 :]:
        found[top] = found[top] + beyond
    return found[: top + 1]


def _jumps(blocks: Sequence[Sequence[Floats]], j: int) -> list[int]:
    """Levels that the jumps to level j rise."""
    return [k for k in range(1, j + 1) if len(blocks[j - k]) > k + 1]


def _left(stay: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Factors of one less the moves within a level."""
    return lu_factor(np.eye(len(stay)) - stay, overwrite_a=True, check_finite=False)


def _from_above(blocks: list[list[Floats]], reference: int) -> dict[int, tuple[Floats, NDArray[np.int32]]]:
    """Levels above ``reference`` taken out: jumps to them lead to where they come down."""
    factors = {}
    for j in range(len(blocks) - 1, reference, -1):
        factors[j] = _left(blocks[j][1])
        down = lu_solve(factors[j], blocks[j][0], check_finite=False)
        for k in _jumps(blocks, j):
            blocks[j - k][k] = blocks[j - k][k] + blocks[j - k][k + 1] @ down
    return factors


def _from_below(blocks: list[list[Floats]], reference: int) -> list[Floats]:
    """Levels below ``reference`` taken out; by what the law of each follows from that above it."""
    ways = []
    for j in range(reference):
        factor = _left(blocks[j][1])
        ways.append(lu_solve(factor, blocks[j + 1][0].T, trans=1, check_finite=False).T)
        for k in range(1, min(len(blocks[j]) - 2, reference - j) + 1):
            blocks[j + 1][k] = blocks[j + 1][k] + ways[j] @ blocks[j][k + 1]
    return ways


def _balanced(stay: Floats) -> Floats:
    """Law of a chain of one level."""
    system = (np.eye(len(stay)) - stay).T
    system[0] = 1.0
    right = np.zeros(len(stay))
    right[0] = 1.0
    return np.asarray(np.linalg.solve(system, right))
