"""A density on (0, inf) by panels: integrals of it and of products with it, up to any point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

__all__ = ["PanelDensity", "panels"]

Floats = NDArray[np.float64]

_ORDER = 20
_NODES, _WEIGHTS = legendre.leggauss(_ORDER)
_FIT = (np.arange(_ORDER)[:, None] + 0.5) * legendre.legvander(_NODES, _ORDER - 1).T * _WEIGHTS
# values at the nodes -> integral from the left end to each node, in half-widths
_RUNNING = np.array([legendre.legval(_NODES, legendre.legint(_FIT[:, j], lbnd=-1)) for j in range(_ORDER)]).T


def panels(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes (m, 20) and half-widths (m,) of the panels between the edges."""
    half = 0.5 * np.diff(edges)
    return 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * _NODES, half


def running(values: Floats, half: Floats) -> Floats:
    """Integral from the first edge to every node, of a function given at the nodes."""
    before = np.append(0.0, np.cumsum((values @ _WEIGHTS) * half)[:-1])
    return np.asarray(before[:, None] + (values @ _RUNNING.T) * half[:, None], dtype=float)


@dataclass(frozen=True, kw_only=True, eq=False)
class PanelDensity:
    """Density values (m, 20) at the nodes of the panels between ``edges`` (m + 1,); zero beyond the last."""

    edges: Floats
    values: Floats

    @cached_property
    def _half(self) -> Floats:
        return np.asarray(0.5 * np.diff(self.edges), dtype=float)

    @property
    def masses(self) -> Floats:
        """Integral over each panel, (m,)."""
        return np.asarray((self.values @ _WEIGHTS) * self._half, dtype=float)

    @cached_property
    def coefficients(self) -> Floats:
        """Legendre series of the density in each panel, (m, 20)."""
        return np.asarray(self.values @ _FIT.T, dtype=float)

    @cached_property
    def _after(self) -> Floats:
        """Integral from each edge on, (m + 1,)."""
        return np.append(np.cumsum(self.masses[::-1])[::-1], 0.0)

    def integral(self, weight: Callable[[Floats], Floats] | None = None) -> float:
        """Integral of the density, or of its product with a function of the point."""
        values = self.values
        if weight is not None:
            values = values * weight(panels(self.edges)[0])
        return float((values @ _WEIGHTS) @ self._half)

    def beyond(self, t: Floats) -> Floats:
        """Integral of the density from t on."""
        where = np.clip(np.searchsorted(self.edges, t, side="right") - 1, 0, len(self._half) - 1)
        inside = np.clip((t - self.edges[where]) / self._half[where] - 1.0, -1.0, 1.0)
        series = self.values[where] @ _FIT.T  # (t, 20)
        whole = legendre.legint(series.T, lbnd=-1)  # (21, t)
        upto = np.array([legendre.legval(x, whole[:, i]) for i, x in enumerate(inside)])
        return np.asarray(np.maximum(self._after[where] - upto * self._half[where], 0.0), dtype=float)
