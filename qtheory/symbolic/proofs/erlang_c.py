"""Probability of a wait in M/M/c (Erlang C)."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._algebra import LOAD
from qtheory.symbolic.proofs._mmc import GIVEN, LETTERS, PROB_WAIT, SOURCE, waiting_law

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Erlang C.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    C = a^c·p0/((1 - ρ)·c!); a = λ/μ; ρ = λ/(μ·c); p0 = 1/(a^c/((1 - ρ)·c!) + sum[k=0..c - 1](a^k/k!))
    """
    found = waiting_law()
    return Derivation(
        name="erlang_c",
        statement="Probability of a wait in M/M/c: c servers and one queue (Erlang C)",
        exactness="exact",
        symbols=(*GIVEN, *LETTERS),
        steps=found.steps,
        quantity="prob_wait",
        answer=PROB_WAIT,
        formula=found.prob_wait,
        where=found.where,
        load=LOAD.symbol,
        source=SOURCE,
    )
