"""Mean wait of the other one of two priority classes."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._cobham import class_wait

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean wait of the other class.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W2 = W0/((1 - ρ1)·(1 - ρ)); W0 = λ1·E[S1²]/2 + λ2·E[S2²]/2; ρ1 = λ1·E[S1]; ρ = λ1·E[S1] + λ2·E[S2]
    """
    return class_wait(
        2,
        name="cobham_other",
        statement="Mean wait of the other one of two classes in M/G/1 with priorities that do not interrupt",
        quantity="other_mean_wait_s",
    )
