"""Transforms of the response given the size, for a law that is a list of sizes, from the smallest up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._stretch import stretched

__all__ = ["AtomLadder", "Rule", "work_found"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Rule = Literal["srpt", "psjf", "sjf", "las"]


def work_found(rule: Rule, sigma: Complexes, value: Complexes, idle: Floats, caught: Complexes) -> Complexes:
    """Transform of the work found: ``caught`` is what a larger job in service adds."""
    extra = 0.0 if rule in ("psjf", "las") else caught
    return np.asarray((idle * sigma + extra) / (sigma - value))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtomLadder:
    """A ladder for a law that is a list of sizes; the rungs may be other sizes too."""

    rate_rps: float
    rule: Rule
    sizes: Floats  # (m,)
    weight: Floats  # (m,)
    atoms: tuple[Floats, Floats]  # the whole law

    def transforms(self, s: Complexes) -> tuple[Complexes, Floats]:
        """E[exp(-s (T(x) - x))] at every size, (m, k), and the chance of no delay at all, (m,)."""
        lam, (y, mass) = self.rate_rps, self.atoms
        sigma = np.asarray(s, dtype=np.complex128)
        lived, quiet, last_x = np.zeros(s.shape, dtype=np.complex128), 0.0, 0.0
        rows, alone = [], []
        for x in self.sizes.tolist():
            strictly, weakly = np.searchsorted(y, x, side="left"), np.searchsorted(y, x, side="right")
            sigma = stretched(s, sigma, partial(self._ahead, n=int(strictly), x=x))[0]
            lived, quiet = lived + (x - last_x) * sigma, quiet + (x - last_x) * lam * mass[:strictly].sum()
            found, idle = self._found(sigma, int(weakly), x)
            own = {"srpt": lived, "sjf": s * x}.get(self.rule, sigma * x)
            calm = {"srpt": quiet, "sjf": 0.0, "las": lam * x}.get(self.rule, lam * mass[:strictly].sum() * x)
            rows.append(found * np.exp(s * x - own))
            alone.append(idle * np.exp(-calm))
            last_x = x
        return np.array(rows), np.array(alone)

    def _ahead(self, sigma: Complexes, n: int, x: float) -> tuple[Complexes, Complexes]:
        """a(sigma) and its derivative, from the first n atoms (and all others cut at x for ``las``)."""
        lam, y, mass = self.rate_rps, self.atoms[0][:n], self.atoms[1][:n]
        gone = -np.expm1(-sigma[:, None] * y) * mass  # the difference itself: at loads close to 1 it is all
        value = np.asarray(lam * gone.sum(axis=1), dtype=np.complex128)
        slope = np.asarray(lam * ((mass - gone) * y).sum(axis=1), dtype=np.complex128)
        if self.rule == "las":
            above, cut = self.atoms[1][n:].sum(), -np.expm1(-sigma * x)
            value, slope = value + lam * above * cut, slope + lam * above * x * (1 - cut)
        return value, slope

    def _found(self, sigma: Complexes, n: int, x: float) -> tuple[Complexes, Floats]:
        """Transform of the work found from the first n atoms, and the chance that there is none."""
        lam, (y, mass) = self.rate_rps, self.atoms
        value, above = self._ahead(sigma, n, x)[0], mass[n:].sum()
        if self.rule == "sjf":
            idle = 1 - lam * float(mass @ y)
            longer = -np.expm1(-sigma[:, None] * y[n:]) @ mass[n:]
            caught = np.asarray(lam * longer, dtype=np.complex128)
        else:
            cut = 0.0 if self.rule == "psjf" else lam * above * x
            idle = 1 - lam * float(mass[:n] @ y[:n]) - cut
            caught = np.asarray(lam * above * -np.expm1(-sigma * x), dtype=np.complex128)
        return work_found(self.rule, sigma, value, np.asarray(idle), caught), np.asarray(idle)
