"""Prompts behind the own one: what waits when the first token comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._cells import between
from ._cells import spread as spread_on
from ._clearing import FINE
from ._mesh import Mesh

__all__ = ["behind_whole", "comers", "followed", "tokens_behind", "with_mates"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def with_mates(mesh: Mesh, behind: Floats) -> Floats:
    """Laws (..., n_w) of the tokens behind, with those of the own batch that come after the own prompt."""
    extra = mesh.engine.demand.mean_batch - 1
    return followed(mesh, behind, extra) if extra > 0 else behind


def followed(mesh: Mesh, behind: Floats, extra: float) -> Floats:
    """Laws (..., n_w) of tokens and those of a geometric number of prompts, ``extra`` in the mean."""
    n = mesh.n_w
    one = spread_on(mesh.engine.weighted_tokens / mesh.cell, mesh.engine.demand.prompt_probs, 2 * n)
    mates = 1 / (1 + extra - extra * np.fft.rfft(one, 4 * n))
    found = np.fft.irfft(np.fft.rfft(behind, 4 * n) * mates, 4 * n).clip(0.0)
    found[..., n - 1] += found[..., n:].sum(axis=-1)
    return np.asarray(found[..., :n])


def tokens_behind(
    mesh: Mesh, times_s: Floats, served: Floats, weight: Floats, *, somebody: bool = False
) -> Floats:
    """Law (n_w,) of the tokens that came in ``times_s``, less those ``served`` (in cells); with those of the
    own batch, of at least one request, if ``somebody`` came."""
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
        nobody = np.exp(-inflow.starts_rps * nodes) / mesh.engine.demand.mean_batch
        laws = with_mates(mesh, laws)
        laws[:, 0] -= nobody
        laws = np.maximum(laws, 0.0) / np.maximum(1 - nobody, 1e-12)[:, None]
    found = np.zeros(mesh.n_w)
    for place in np.nonzero(mass > 1e-13)[0]:
        shift = gone[place] / mass[place]
        lower = int(shift)
        for cells, part in ((lower, 1 - shift + lower), (lower + 1, shift - lower)):
            row = laws[place]
            found[: mesh.n_w - cells] += mass[place] * part * row[cells:]
            found[0] += mass[place] * part * row[:cells].sum()
    return found


def behind_whole(mesh: Mesh, own_s: Floats, total: Floats) -> Floats:
    """What comes in the own step; the batch of who found nobody as well."""
    zero = np.zeros(total.shape)
    first = zero.copy()
    first[-1] = total[-1]
    alone = with_mates(mesh, tokens_behind(mesh, own_s, zero, first))
    return alone + tokens_behind(mesh, own_s, zero, total - first)


def comers(mesh: Mesh, before_s: Floats, room: Ints) -> tuple[Floats, Floats]:
    """Probability that nobody is behind after a time, and else the mean fine cells that fit into the last
    step."""
    times_s = np.concatenate([[0.0], np.geomspace(before_s.min(), 1.001 * before_s.max() + 1e-9, 40)])
    inflow = mesh.inflow_in(times_s, mesh.n_w, mesh.cell)
    beyond = 1 - np.cumsum(with_mates(mesh, inflow.laws), axis=1)
    fitting = np.concatenate([np.zeros((len(times_s), 1)), np.cumsum(beyond, axis=1)], axis=1)  # E[min(k, A)]
    low, share = between(times_s, before_s)
    cell, part = np.divmod(room / FINE, 1.0)
    at = np.minimum(cell.astype(np.intp), mesh.n_w - 1)[None, :]
    rows = [(1 - part) * fitting[i, at] + part * fitting[i, at + 1] for i in (low, low + 1)]
    mean = (1 - share) * rows[0] + share * rows[1]
    none = np.exp(-inflow.starts_rps * before_s) / mesh.engine.demand.mean_batch
    return none, mean / np.maximum(1 - none, 1e-12) * FINE
