"""How long prompt tokens take that wait: a fluid in steps, with slots that may have to get free first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._cells import between
from ._mesh import Mesh

__all__ = ["FINE", "clearing_s", "turn_s"]

Floats = NDArray[np.float64]

FINE = 6
"""Parts of a cell."""


def clearing_s(
    mesh: Mesh, nodes: Floats, fine: float, n: int, *, begun: bool = False, shuts: bool = True
) -> Floats:
    """Seconds (n, nodes) from the start of a step until so many fine cells are done, as a fluid.

    With ``begun`` until the step begins in which the last of them gets its turn; without ``shuts`` there is
    always a place.
    """
    slots, table = mesh.engine.slots, mesh.table
    shut = mesh.shut
    x = np.unique(np.concatenate([np.linspace(0.0, max(shut, 1.0), 24), [shut], nodes]).clip(0.0))
    running = np.minimum(x, slots)
    open_ = (x <= shut + 1e-9) if shuts else np.ones(len(x), dtype=bool)
    most = np.minimum(mesh.admitted(x) if shuts else mesh.full_cells, mesh.full_cells) * FINE
    most = np.broadcast_to(most, x.shape)
    decoded = running / mesh.remaining if mesh.rule.mixed else np.zeros_like(x)
    rooms = np.array([mesh.rule.room_tokens(mesh.engine, float(n)) for n in running])
    share = mesh.engine.demand.mean_decode / mesh.remaining * fine / mesh.engine.demand.mean_prompt
    freed = np.maximum(running / mesh.remaining, 1e-9)  # by a step of decodes
    steps = np.where(open_, 0.0, np.ceil(np.maximum(x - shut, 0.0) / freed - 1e-9))
    until = steps * table.decode_s(running)
    last_open = float(x[open_][-1]) if open_.any() else float(x[0])
    after, nearer = between(x, np.clip(x - steps * freed, x[0], last_open))
    done = np.zeros((n, len(x)))
    block = int(max(1, min(most[open_].min(initial=mesh.full_cells * FINE), n)))
    full_fine = mesh.full_cells * FINE
    for start in range(1, n, block):
        v = np.arange(start, min(start + block, n))[:, None]
        if start == 1 or start - block <= most.max():  # beyond, each step takes as many
            taken = np.minimum(v if start <= most.max() else v[:1], most[None, :])
            cells = taken / FINE
            step = table.prompt_s(np.broadcast_to(running, taken.shape), np.maximum(cells, 1 / FINE))
            if mesh.rule.mixed:
                full = table.full_s(running, mesh.full_cells * mesh.cell)
                step = np.where(taken == full_fine, full[None, :], step)
            ended = decoded * np.maximum(taken * fine / rooms, 1.0)  # a cell may stand for several steps
            low, part = between(x, np.maximum(x[None, :] + share * taken - ended, 0.0))
        rest = v - taken
        later = (1 - part) * done[rest, low] + part * done[rest, low + 1]
        value = np.where(rest > 0, step + later, 0.0 if begun else step)
        then = (1 - nearer) * value[:, after] + nearer * value[:, after + 1]
        value = np.where(open_[None, :], value, until[None, :] + then)
        done[v[:, 0]] = value
    low, part = between(x, nodes)
    return np.asarray((1 - part) * done[:, low] + part * done[:, low + 1])


def turn_s(mesh: Mesh, nodes: Floats, n: int, *, shuts: bool = True) -> Floats:
    """Seconds (nodes, n) until the step begins in which one with so many cells ahead gets its turn."""
    ahead = np.arange(n) * FINE
    return clearing_s(mesh, nodes, mesh.cell / FINE, int(ahead[-1]) + 2, begun=True, shuts=shuts)[ahead + 1].T
