"""How long prompts can hold up those that decode where they go first: no longer than there are places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._mesh import Mesh

__all__ = ["most_stall_s"]

Floats = NDArray[np.float64]


def most_stall_s(mesh: Mesh, start: Floats, n_decodes: float) -> Floats:
    """Most seconds (k,) of prompts in a stay of so many decodes, with ``start`` (k,) that run at first.

    Each prompt takes a place, or its tokens of memory, that is free at first or gets free meanwhile; one more
    may be under way.
    """
    engine, demand = mesh.engine, mesh.engine.demand
    if mesh.rule.mixed:
        return np.full(len(start), np.inf)
    freed = n_decodes * start / max(demand.mean_decode, 1e-9)
    places = np.maximum(engine.slots - start, 0.0) + freed + 1.0
    each = demand.mean_context / demand.mean_prompt if engine.is_kv_limited else 1.0
    return np.asarray(places * each * engine.step_s(demand.mean_prompt, 0.0))
