"""What whole cells stand for: tokens between two cells are counted as the one or the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["on_cells"]

Floats = NDArray[np.float64]

_RARE = 1e-12


def on_cells(exact: Floats, law: Floats, counted: Floats, parts: int) -> Floats:
    """Values (rows, cells + 1) at whole cells that have the mean of what is exact, as tokens come.

    The value at a cell is the mean over all that is counted as it. What is nearly nothing is counted as
    nothing, and several prompts are counted each for itself, so that what is counted is spread wider than
    what came; what that does to the mean is taken back. From the last cell but one on, values are a line: of
    a line the mean is right however tokens are counted.

    Parameters
    ----------
    exact : array, shape (rows, parts * cells + 1)
        Values at parts of cells, 0 at nothing.
    law : array, shape (parts * cells + 1,)
        Of what comes, on parts of cells; it need not be all.
    counted : array, shape (cells - 1,)
        The same on whole cells, of which each prompt is counted for itself.
    parts : int
        Of a cell.
    """
    n, last = len(counted), exact.shape[1] - 1
    full = parts * n
    line = exact[:, [full]] + (exact[:, [last]] - exact[:, [full]]) * (np.arange(last + 1) - full) / parts
    bent = exact - line
    bent[:, full:] = 0.0
    weight, total = np.zeros(n), np.zeros((len(exact), n))
    for part in range(1 - parts, parts):
        near = slice(parts + part, last + part, parts)
        each = (1 - abs(part) / parts) * law[near]
        weight += each
        total += each * bent[:, near]
    found = bent[:, ::parts].copy()
    found[:, 1:-1] = np.where(weight > _RARE, total / np.maximum(weight, _RARE), found[:, 1:-1])
    lacks = bent @ law - bent[:, 0] * counted[0] - found[:, 1:n] @ counted[1:]
    some = float(counted[1:].sum())
    if some > _RARE:
        found[:, 1:n] += np.clip(lacks / some, -exact[:, parts], exact[:, parts])[:, None]
    found += line[:, ::parts]
    found[:, 1:] = np.maximum(found[:, 1:], exact[:, [1]])  # no less than the least prompt
    return np.asarray(found)
