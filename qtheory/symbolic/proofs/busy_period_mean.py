"""Mean busy period of M/G/1."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._busy_period import busy_moment

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean busy period of M/G/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    E[B] = E[S]/(1 - ρ); ρ = λ·E[S]
    """
    return busy_moment(
        1,
        name="busy_period_mean",
        statement="Mean busy period of M/G/1, from its start by one customer until nobody is left",
        quantity="mean_busy_period_s",
    )
