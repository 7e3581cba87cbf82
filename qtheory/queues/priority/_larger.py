"""Sums of exponentials over the sizes above each of many sizes: what a larger job in service adds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._stretch import Near

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
        """E[exp(-sigma S); S above the size] at the sizes of a piece and its end, (s, m, n + 1)."""
        m, n = self.x.shape
        center = sigma[:, :, n // 2]  # (s, m)
        reach = float(np.max(np.abs(sigma - center[:, :, None])))
        found = np.einsum("smik,mik->smi", np.exp(-sigma[..., None] * self.x[:, None, :]), self.larger)
        y = np.concatenate([self.x[1:].ravel(), self.above[0]])
        mass = np.concatenate([self.mass[1:].ravel(), self.above[1]])
        piece = np.concatenate([np.repeat(np.arange(1, m), n), np.full(self.above[0].size, m)])
        later = np.where(piece > np.arange(m)[:, None], mass, 0.0)  # (m, y)
        with np.errstate(divide="ignore"):
            size = np.log(later) - y * sigma.real.min(axis=(0, 2))[:, None]
            left_out = size + _TERMS * np.log(y * reach) - math.lgamma(_TERMS + 1.0)  # logarithms
        seen = size > -_GONE
        close = seen & (left_out < -_GONE) & (y * reach < _CLOSE)
        if close.any():
            found += _by_series(sigma, center, y, np.where(close, later, 0.0))
        for i, k in np.argwhere(seen & ~close).tolist():
            found[:, i] += later[i, k] * np.exp(-sigma[:, i] * y[k])
        return np.asarray(found)


def _by_series(sigma: Complexes, center: Complexes, y: Floats, mass: Floats) -> Complexes:
    """Sums of mass (m, y) times exp(-sigma y) by Taylor series about a center a piece."""
    used = np.flatnonzero(mass.any(axis=0))
    y, mass = y[used], mass[:, used]
    piece, which = np.nonzero(mass)
    unit_s = float(np.max(y))
    steps = np.ones((y.size, _TERMS))
    steps[:, 1:] = (-y / unit_s)[:, None] / np.arange(1, _TERMS)
    gone = np.zeros((len(center), *mass.shape), dtype=np.complex128)
    gone[:, piece, which] = np.exp(-center[:, piece] * y[which]) * mass[piece, which]
    terms = np.cumprod(steps, axis=1)
    flat = gone.reshape(-1, y.size)
    series = flat.real @ terms + 1j * (flat.imag @ terms)  # two real products: half the work
    at = Near(center=center.ravel(), unit_s=unit_s, n_terms=_TERMS)
    near = np.ascontiguousarray(series.T)[:, :, None]
    return at.value(sigma.reshape(len(flat), -1), near).reshape(sigma.shape)
