"""States in groups: nodes of the number running, and weights shared between neighbouring nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._mesh import Mesh

__all__ = ["add", "nodes_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_NODES = 9  # numbers running
_EDGE, _SEVERAL = 0.01, 3  # places


def nodes_of(x: Floats, weight: Floats, mesh: Mesh) -> Floats:
    """Nodes that hold all of ``x``; places for several, for one or for none are not blurred between them."""
    order = np.argsort(x)
    below = np.cumsum(weight[order])
    levels = np.append(np.linspace(0.0, 1.0, _NODES - 2)[1:-1], [0.95, 0.99, 0.9995])
    inner = np.interp(levels, below, x[order])
    shut = mesh.shut
    edge = np.array([shut - _SEVERAL * mesh.joining, shut, shut + _EDGE])
    edge = edge[(edge > x.min()) & (edge < x.max())]
    nodes = np.unique(np.concatenate([[x.min()], inner, edge, [x.max()]]).round(6))
    return nodes if len(nodes) > 1 else np.array([nodes[0], nodes[0] + 1.0])


def add(target: Floats, start: Ints, places: tuple[tuple[Ints, Floats], ...], weight: Floats) -> None:
    """Share weights between neighbouring nodes in every direction."""
    for corner in range(2 ** len(places)):
        index, part = [start], weight
        for bit, (low, share) in enumerate(places):
            up = corner >> bit & 1
            index.append(low + up)
            part = part * (share if up else 1 - share)
        np.add.at(target, tuple(index), part)
