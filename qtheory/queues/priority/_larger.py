"""Sums over the sizes above each of many sizes: what a larger job in service adds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._stretch import Near, is_plain, left_of

__all__ = ["LargerSizes"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_GONE = 34.0  # exp(-34) = 2e-15
_TERMS = 40  # of a series
_CLOSE = 12.0  # y |sigma - c| up to which terms of a series, small anyway, lose no digits between them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LargerSizes:
    """Pieces of n sizes each, from the smallest up, and those beyond the last piece."""

    x: Floats  # (m, n)
    mass: Floats  # (m, n)
    larger: Floats  # (m, n + 1, n) of the mass at a size of the piece, what is above each, and above the end
    above: tuple[Floats, Floats]  # sizes beyond the pieces, and their probabilities

    def sums(self, sigma: Complexes) -> Complexes:
        """E[1 - exp(-sigma S); S above the size] at the sizes of a piece and its end, (s, m, n + 1)."""
        m, n = self.x.shape
        center = sigma[:, :, n // 2]  # (s, m)
        reach = float(np.max(np.abs(sigma - center[:, :, None])))
        plain = is_plain(sigma, self.x.ravel(), self.mass.ravel())
        with_x = sigma[..., None] * self.x[:, None, :]
        each = np.exp(-with_x) if plain else left_of(with_x)
        found = np.einsum("smik,mik->smi", each, self.larger)
        found = self.larger.sum(axis=2) - found if plain else found
        y = np.concatenate([self.x[1:].ravel(), self.above[0]])
        mass = np.concatenate([self.mass[1:].ravel(), self.above[1]])
        piece = np.concatenate([np.repeat(np.arange(1, m), n), np.full(self.above[0].size, m)])
        later = np.where(piece > np.arange(m)[:, None], mass, 0.0)  # (m, y)
        with np.errstate(divide="ignore"):
            least = y * sigma.real.min(axis=(0, 2))[:, None]
            size = np.log(later) - least
            left_out = size + _TERMS * np.log(y * reach) - math.lgamma(_TERMS + 1.0)  # logarithms
        seen = size > -_GONE if plain else (size > -_GONE) | ((later > 0) & (least < 1.0))
        found += np.where(seen, 0.0, later).sum(axis=1)[:, None]
        close = seen & (left_out < -_GONE) & (y * reach < _CLOSE)
        if close.any():
            found += _by_series(sigma, center, y, np.where(close, later, 0.0), plain=plain)
        for i, k in np.argwhere(seen & ~close).tolist():
            with_y = sigma[:, i] * y[k]
            found[:, i] += later[i, k] * (1.0 - np.exp(-with_y) if plain else left_of(with_y))
        return np.asarray(found)


def _by_series(sigma: Complexes, center: Complexes, y: Floats, mass: Floats, *, plain: bool) -> Complexes:
    """Sums of mass (m, y) times 1 - exp(-sigma y) by Taylor series about a center a piece."""
    used = np.flatnonzero(mass.any(axis=0))
    y, mass = y[used], mass[:, used]
    piece, which = np.nonzero(mass)
    unit_s = float(np.max(y))
    steps = np.ones((y.size, _TERMS))
    steps[:, 1:] = (-y / unit_s)[:, None] / np.arange(1, _TERMS)
    gone = np.zeros((len(center), *mass.shape), dtype=np.complex128)
    with_y = center[:, piece] * y[which]
    left = None if plain else left_of(with_y)
    gone[:, piece, which] = (-np.exp(-with_y) if left is None else left - 1.0) * mass[piece, which]
    terms = np.cumprod(steps, axis=1)
    flat = gone.reshape(-1, y.size)
    series = flat.real @ terms + 1j * (flat.imag @ terms)  # two real products: half the work
    if left is None:
        series[:, 0] += np.tile(mass.sum(axis=1), len(center))
    else:
        gone[:, piece, which] = left * mass[piece, which]
        series[:, 0] = gone.sum(axis=2).ravel()
    at = Near(center=center.ravel(), unit_s=unit_s, n_terms=_TERMS)
    near = np.ascontiguousarray(series.T)[:, :, None]
    return at.value(sigma.reshape(len(flat), -1), near).reshape(sigma.shape)
