"""Prompts behind the own one: what waits when the first token comes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ._cells import between
from ._cells import spread as spread_on
from ._clearing import FINE
from ._mesh import Mesh

__all__ = ["Comers", "comers", "followed", "one_by_one"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def followed(mesh: Mesh, behind: Floats, extra: Floats) -> Floats:
    """Laws (..., n_w) of tokens and those of a geometric number of prompts, ``extra`` (...) in the mean."""
    if not np.any(extra > 0):
        return behind
    n, mean = mesh.n_w, np.asarray(extra)[..., None]
    one = spread_on(mesh.engine.weighted_tokens / mesh.cell, mesh.engine.demand.prompt_probs, 2 * n)
    mates = 1 / (1 + mean - mean * np.fft.rfft(one, 4 * n))
    found = np.fft.irfft(np.fft.rfft(behind, 4 * n) * mates, 4 * n).clip(0.0)
    found[..., n - 1] += found[..., n:].sum(axis=-1)
    return np.asarray(found[..., :n])


def one_by_one(mesh: Mesh, behind: Floats) -> float:
    """Share of the variance of a law (n_w,) of tokens that a Poisson number of prompts of its mean has."""
    cells, weighted = np.arange(mesh.n_w), mesh.engine.weighted_tokens
    mean = float(behind @ cells)
    var = float(behind @ cells**2) - mean**2
    each = float(weighted**2 @ mesh.engine.demand.prompt_probs) / mesh.engine.demand.mean_prompt / mesh.cell
    return min(mean * each / var, 1.0) if var > 0 else 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Comers:
    """Requests (...) that end a wait, by what came behind them."""

    times_s: Floats  # in which it came
    since_s: Floats  # of their arrival, when that time began
    weight: Floats
    served: Floats | float = 0.0  # cells of it that are done
    somebody: bool = False  # at least one request came

    def law(self, mesh: Mesh, *, at_once: bool = False) -> Floats:
        """Law (n_w,) of the tokens that came, less those served; of the own batch alone if ``at_once``."""
        kept = self.weight > 1e-13
        if not kept.any():
            return np.zeros(mesh.n_w)
        t, p = self.times_s[kept], self.weight[kept]
        mates = partial(mesh.engine.demand.mates, at_once=at_once)
        extra = mates((self.since_s + self.times_s)[kept]) - mates(self.since_s[kept])
        served = np.broadcast_to(self.served, kept.shape)[kept]
        nodes = np.concatenate([[0.0], np.geomspace(max(t.min(), 1e-6), 1.001 * t.max() + 1e-6, 40)])
        low, share = between(nodes, t)
        k = len(nodes)
        mass, gone, more = (
            np.asarray(
                np.bincount(low, p * (1 - share) * each, k) + np.bincount(low + 1, p * share * each, k)
            )
            for each in (1.0, served, extra)
        )
        some = np.nonzero(mass > 1e-13)[0]
        more = more[some] / mass[some]
        laws = followed(mesh, mesh.inflow.laws_in(nodes[some]), more)
        if self.somebody:
            nobody = np.exp(-mesh.inflow.starts_rps * nodes[some]) / (1 + more)
            laws = laws.copy()
            laws[:, 0] -= nobody
            laws = np.maximum(laws, 0.0) / np.maximum(1 - nobody, 1e-12)[:, None]
        found = np.zeros(mesh.n_w)
        for place, row in zip(some, laws, strict=True):
            shift = gone[place] / mass[place]
            lower = int(shift)
            for cells, part in ((lower, 1 - shift + lower), (lower + 1, shift - lower)):
                found[: mesh.n_w - cells] += mass[place] * part * row[cells:]
                found[0] += mass[place] * part * row[:cells].sum()
        return found


def comers(mesh: Mesh, before_s: Floats, room: Ints) -> tuple[Floats, Floats]:
    """Probability that nobody is behind after a time, and else the mean fine cells that fit into the last
    step."""
    times_s = np.concatenate([[0.0], np.geomspace(before_s.min(), 1.001 * before_s.max() + 1e-9, 40)])
    inflow, mates = mesh.inflow, mesh.engine.demand.mates
    beyond = 1 - np.cumsum(followed(mesh, inflow.laws_in(times_s), mates(times_s)), axis=1)
    fitting = np.concatenate([np.zeros((len(times_s), 1)), np.cumsum(beyond, axis=1)], axis=1)  # E[min(k, A)]
    low, share = between(times_s, before_s)
    cell, part = np.divmod(room / FINE, 1.0)
    at = np.minimum(cell.astype(np.intp), mesh.n_w - 1)[None, :]
    rows = [(1 - part) * fitting[i, at] + part * fitting[i, at + 1] for i in (low, low + 1)]
    mean = (1 - share) * rows[0] + share * rows[1]
    none = np.exp(-inflow.starts_rps * before_s) / (1 + mates(before_s))
    return none, mean / np.maximum(1 - none, 1e-12) * FINE
