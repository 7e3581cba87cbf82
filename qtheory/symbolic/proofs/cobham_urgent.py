"""Mean wait of the urgent one of two priority classes."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._cobham import class_wait

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean wait of the urgent class.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W1 = W0/(1 - ρ1); W0 = λ1·E[S1²]/2 + λ2·E[S2²]/2; ρ1 = λ1·E[S1]; ρ = λ1·E[S1] + λ2·E[S2]
    """
    return class_wait(
        1,
        name="cobham_urgent",
        statement="Mean wait of the urgent one of two classes in M/G/1 with priorities that do not interrupt",
        quantity="urgent_mean_wait_s",
    )
