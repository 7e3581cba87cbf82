"""Mean wait in M/G/1 (Pollaczek and Khinchine)."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._algebra import WAIT
from qtheory.symbolic.proofs._mg1 import wait_moment

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean wait in M/G/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W = λ·E[S²]/(2·(1 - ρ)); ρ = λ·E[S]
    """
    return wait_moment(
        1,
        name="mg1_wait",
        statement="Mean wait in M/G/1: Poisson arrivals, any service law, one server (Pollaczek-Khinchine)",
        quantity="mean_wait_s",
        answer=WAIT,
    )
