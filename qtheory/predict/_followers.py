"""Prompts behind the own one: what waits when the first token comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._cells import between
from ._cells import spread as spread_on
from ._mesh import Mesh

__all__ = ["followed", "tokens_behind", "with_mates"]

Floats = NDArray[np.float64]


def with_mates(mesh: Mesh, behind: Floats) -> Floats:
    """A law (n_w,) of the tokens behind, with those of the own batch that come after the own prompt."""
    extra = (mesh.engine.demand.burstiness - 1) / 2
    return followed(mesh, behind, extra) if mesh.rule.mixed and extra > 0 else behind


def followed(mesh: Mesh, behind: Floats, extra: float) -> Floats:
    """A law (n_w,) of tokens and those of a geometric number of prompts, ``extra`` in the mean."""
    n = mesh.n_w
    one = spread_on(mesh.engine.weighted_tokens / mesh.cell, mesh.engine.demand.prompt_probs, 2 * n)
    mates = 1 / (1 + extra - extra * np.fft.rfft(one, 4 * n))
    found = np.fft.irfft(np.fft.rfft(behind, 4 * n) * mates, 4 * n).clip(0.0)
    found[n - 1] += found[n:].sum()
    return np.asarray(found[:n])


def tokens_behind(
    mesh: Mesh, times_s: Floats, served: Floats, weight: Floats, *, somebody: bool = False
) -> Floats:
    """Law (n_w,) of the tokens that came in ``times_s``, less those ``served`` (in cells); of at least one
    request if ``somebody`` came."""
    kept = weight > 1e-13
    if not kept.any():
        return np.zeros(mesh.n_w)
    t, s, p = times_s[kept], served[kept], weight[kept]
    nodes = np.concatenate([[0.0], np.geomspace(max(t.min(), 1e-6), 1.001 * t.max() + 1e-6, 40)])
    low, share = between(nodes, t)
    k = len(nodes)
    mass = np.bincount(low, p * (1 - share), k) + np.bincount(low + 1, p * share, k)
    gone = np.bincount(low, p * (1 - share) * s, k) + np.bincount(low + 1, p * share * s, k)
    inflow = mesh.inflow_in(nodes, mesh.n_w, mesh.cell)
    laws = inflow.laws.copy()
    if somebody:
        laws[:, 0] -= np.exp(-inflow.starts_rps * nodes)
        laws = np.maximum(laws, 0.0) / np.maximum(-np.expm1(-inflow.starts_rps * nodes), 1e-12)[:, None]
    found = np.zeros(mesh.n_w)
    for place in np.nonzero(mass > 1e-13)[0]:
        shift = gone[place] / mass[place]
        lower = int(shift)
        for cells, part in ((lower, 1 - shift + lower), (lower + 1, shift - lower)):
            row = laws[place]
            found[: mesh.n_w - cells] += mass[place] * part * row[cells:]
            found[0] += mass[place] * part * row[:cells].sum()
    return found
