"""Inoue's second bound of a greedy batch server."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._algebra import LOAD
from qtheory.symbolic.proofs._batch import GIVEN, batch_bound

__all__ = ["derivation"]


def derivation() -> Derivation:
    """The bound that is better as soon as the server is hardly ever idle.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    T ≤ base + slope·M_top + (M_top - 1)/(2·λ); ρ = λ·slope; M_top = (λ·base·ρ + λ·base + 1)/(1 - ρ^2)
    """
    lam, base, _ = (letter.symbol for letter in GIVEN)
    return batch_bound(
        lam * base / (1 - LOAD.symbol),
        says="The chance that nobody comes is not below zero; the first equation then bounds the mean batch.",
        name="batch_phi1",
        number=1,
    )
