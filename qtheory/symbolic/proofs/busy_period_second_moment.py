"""Second moment of the busy period of M/G/1."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._busy_period import busy_moment

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Second moment of the busy period of M/G/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    E[B²] = E[S²]/(1 - ρ)^3; ρ = λ·E[S]
    """
    return busy_moment(
        2,
        name="busy_period_second_moment",
        statement="Second moment of the busy period of M/G/1, started by one customer",
        quantity="busy_period_second_moment_s2",
    )
