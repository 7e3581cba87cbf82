"""Second moment of the wait in M/G/1 (Pollaczek and Khinchine)."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper
from qtheory.symbolic.proofs._mg1 import wait_moment

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Second moment of the wait in M/G/1.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    E[W²] = λ^2·E[S²]^2/(2·(1 - ρ)^2) + λ·E[S³]/(3·(1 - ρ)); ρ = λ·E[S]
    """
    return wait_moment(
        2,
        name="mg1_wait_second_moment",
        statement="Second moment of the wait in M/G/1, first come first served (Pollaczek-Khinchine)",
        quantity="wait_second_moment_s2",
        answer=helper("E[W²]", "E[W^2]", "second moment of the wait before service", "s^2"),
    )
