"""Transforms and moments of the wait by prediction, from the smallest prediction up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._sizes import Stretched
from ._stretch import stretched

__all__ = ["PredictedRungs"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedRungs:
    """Pairs in the order of the predictions, a rung for each different one."""

    rate_rps: float
    x: Floats  # (n,) true sizes
    mass: Floats  # (n,) their probabilities
    ends: NDArray[np.intp]  # (g + 1,) where the rungs begin and end among the pairs
    sizes: Floats  # (g,) the predictions
    weight: Floats  # (g,) their probabilities

    @classmethod
    def of(cls, rate_rps: float, size: Floats, predicted: Floats, weight: Floats) -> PredictedRungs:
        """From pairs in any order."""
        order = np.argsort(predicted, kind="stable")
        rungs, start = np.unique(predicted[order], return_index=True)
        ends = np.append(start, size.size)
        prob = np.add.reduceat(weight[order], start)
        return cls(rate_rps=rate_rps, x=size[order], mass=weight[order], ends=ends, sizes=rungs, weight=prob)

    def _upto(self, power: int) -> Floats:
        """Rate times E[S^power] of the rungs below each end, (g + 1,)."""
        whole = np.append(0.0, np.cumsum(self.rate_rps * self.mass * self.x**power))
        return np.asarray(whole[self.ends])

    def waits(self) -> tuple[Floats, Floats]:
        """Mean and variance of the wait on each rung."""
        load, second, third = (self._upto(k) for k in (1, 2, 3))
        return Stretched(
            ahead=(load[:-1], second[:-1]),
            equal=(load[1:], second[1:], third[1:]),
            lower=(second[-1] - second[1:], third[-1] - third[1:]),
        ).moments()

    def own_moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of the service on each rung."""
        mean, second = (np.diff(self._upto(k)) / (self.rate_rps * self.weight) for k in (1, 2))
        return mean, second - mean**2

    def own(self, s: Complexes) -> Complexes:
        """E[exp(-s S)] given the rung, (g, s)."""
        terms = np.exp(-s[:, None] * self.x) * self.mass
        return np.asarray((np.add.reduceat(terms, self.ends[:-1], axis=1) / self.weight).T)

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """E[exp(-s W)] given the rung, (g, s), and the chance of no wait."""
        lam, sigma = self.rate_rps, np.asarray(s, dtype=np.complex128)
        idle = 1.0 - float(self._upto(1)[-1])
        rows = []
        for start, end in zip(self.ends[:-1].tolist(), self.ends[1:].tolist(), strict=True):
            x, mass = self.x[:start], self.mass[:start]

            def ahead(at: Complexes, x: Floats = x, mass: Floats = mass) -> tuple[Complexes, Complexes]:
                gone = -np.expm1(-at[:, None] * x) * mass  # no difference of ones, at loads close to 1
                return np.asarray(lam * gone.sum(1)), np.asarray(lam * ((mass - gone) * x).sum(1))

            sigma = stretched(s, sigma, ahead)[0]
            gone = lam * -np.expm1(-sigma[:, None] * self.x) * self.mass
            value, caught = gone[:, :end].sum(axis=1), gone[:, end:].sum(axis=1)
            rows.append((idle * sigma + caught) / (sigma - value))
        return np.array(rows), np.full(len(rows), idle)
