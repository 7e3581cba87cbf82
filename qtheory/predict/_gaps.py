"""Law of the gaps between tokens, pooled over all tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._backlog import Backlog
from ._cells import between
from ._gridlaw import GridLaw, law_of_atoms
from ._mesh import StepsAt

__all__ = ["gap_law"]

Floats = NDArray[np.float64]

_NODES = 6
_REST = np.array([0.25, 0.75, 1.5, 2.5, 4.0])  # a run that goes on, in means of an exponential law
_REST_MASS = np.array([0.3935, 0.2387, 0.2325, 0.0855, 0.0498])


def gap_law(backlog: Backlog) -> GridLaw:
    """Every running request sees every step, or every decode with the prompts before it."""
    mesh = backlog.mesh
    weight = backlog.at_steps * mesh.decoded
    if mesh.rule.mixed:
        steps = np.where(mesh.running > 0, mesh.decoded / np.maximum(mesh.running, 1e-9), 1.0)
        seconds = mesh.seconds / np.maximum(steps, 1e-9)  # at full budget a cell stands for a share of a step
        return law_of_atoms(seconds.ravel(), weight.ravel())
    running = mesh.running.ravel()
    total = weight.ravel() / weight.sum()
    nodes = np.linspace(float(running.min()), float(max(running.max(), running.min() + 0.5)), _NODES)
    low, share = between(nodes, running)
    mass = np.bincount(low, total * (1 - share), _NODES) + np.bincount(low + 1, total * share, _NODES)
    parts = [_runs(backlog, float(n), float(p)) for n, p in zip(nodes, mass, strict=True) if p > 1e-9]
    return law_of_atoms(np.concatenate([t for t, _ in parts]), np.concatenate([w for _, w in parts]))


def _runs(backlog: Backlog, running: float, mass: float) -> tuple[Floats, Floats]:
    """Atoms of the gap after a decode: the prompts that came, those that came meanwhile, the next decode."""
    mesh = backlog.mesh
    chain = StepsAt.of(mesh, running)
    decodes = chain.decodes
    if decodes.all():  # slots are taken: a decode follows every step
        return chain.seconds, mass * chain.stationary
    prompts = chain.rows * ~decodes[:, None]
    later = np.linalg.solve(np.eye(mesh.n_w) - prompts, chain.seconds)
    start, ends = chain.rows[0], chain.rows[:, 0]
    on = np.maximum(chain.rows @ later - ends * later[0], 0.0) / np.maximum(1 - ends, 1e-12)
    alone = chain.seconds[0]
    first = np.where(decodes, chain.seconds, chain.seconds + alone)
    going = np.where(decodes, 0.0, 1 - ends)
    rest = np.maximum(on - alone, 0.0)[:, None] * _REST[None, :] + first[:, None]
    times = np.concatenate([first, rest.ravel()])
    weights = np.concatenate([start * (1 - going), ((start * going)[:, None] * _REST_MASS[None, :]).ravel()])
    return times, mass * weights / weights.sum()
