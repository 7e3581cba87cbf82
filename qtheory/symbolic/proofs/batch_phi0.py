"""Inoue's first bound of a greedy batch server."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._batch import batch_bound

__all__ = ["derivation"]


def derivation() -> Derivation:
    """The bound that is better in light traffic.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    T ≤ base + slope·M_top + (M_top - 1)/(2·λ); ρ = λ·slope; M_top = (λ^2·base^2 + 2·λ·base·ρ + 1)/(1 - ρ^2)
    """
    import sympy as sp

    return batch_bound(
        sp.S.One,
        says="A batch has at least one member.",
        name="batch_phi0",
        number=0,
    )
