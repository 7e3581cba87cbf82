"""Jumps and kinks of waits and responses, in closed form, so that the inversion sees a smooth rest.

A customer who finds one unfinished service, or whose own service is constant, gives the tail a kink or a jump
at the atoms of that service. With more urgent arrivals at rate a, what has not been stretched by them carries
``exp(-a x)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtheory.laws.law import Law
from qtheory.queues.single._common import all_atoms_of

__all__ = ["KnownTail", "OneFound"]

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFound:
    r"""The integral :math:`J(t)=\int_t^\infty P(S>x)e^{-ax}dx` for a law with atoms.

    For another law an exponential stands in: it has the same slope at 0, which is all that a kink sees.
    """

    law: Law
    urgent_rps: float

    def tail(self, t: Floats) -> Floats:
        """J(t), and J(0) below 0."""
        a, late = self.urgent_rps, np.maximum(t, 0.0)
        atoms = all_atoms_of(self.law)
        if atoms is None:
            return np.asarray(np.exp(-late * (a + 1 / self.law.mean)) / (a + 1 / self.law.mean))
        left = np.maximum(atoms[0] - late[..., None], 0.0)
        grown = -np.expm1(-a * left) / a if a > 0 else left
        return np.asarray(np.exp(-a * late) * (grown @ atoms[1]))

    def density_lst(self, s: Complexes) -> Complexes:
        """Transform of P(S > x) exp(-a x)."""
        at = s + self.urgent_rps
        if all_atoms_of(self.law) is None:
            return np.asarray(1 / (at + 1 / self.law.mean))
        return np.asarray((1 - self.law.lst(at)) / at)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTail:
    """A known part of a tail: an own service with probability ``alone``, and one service found before it.

    ``found`` holds weights and the services found; ``own`` is None for a wait. ``own_rps`` is the rate of the
    arrivals that would interrupt the own service.
    """

    found: tuple[tuple[float, OneFound], ...]
    own: Law | None = None
    alone: float = 0.0
    own_rps: float = 0.0

    def tail(self, t: Floats) -> Floats:
        """The part at t."""
        if self.own is None:
            return np.asarray(sum(w * one.tail(t) for w, one in self.found))
        atoms = all_atoms_of(self.own)
        if atoms is None:
            return np.asarray(self.alone * self.own.sf(t))
        kept = atoms[1] * np.exp(-self.own_rps * atoms[0])  # own services without an interruption
        late = t[..., None] - atoms[0]
        total = self.alone * np.where(late < 0, 1.0, 0.0)
        for weight, one in self.found:
            total = total + weight * one.tail(late)
        return np.asarray(total @ kept)

    def lst(self, s: Complexes) -> Complexes:
        """Its transform."""
        if self.own is None:
            return np.asarray(
                sum(w * (one.tail(np.zeros(1))[0] - one.density_lst(s)) / s for w, one in self.found)
            )
        kept, kept_lst = self.own.lst(self.own_rps), self.own.lst(s + self.own_rps)
        total = self.alone * (kept - kept_lst) / s
        if all_atoms_of(self.own) is not None:
            for weight, one in self.found:
                total = total + weight * (kept * one.tail(np.zeros(1))[0] - kept_lst * one.density_lst(s)) / s
        return np.asarray(total)
