"""Share lost in M/M/1/K."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper
from qtheory.symbolic.proofs._algebra import EMPTY, LOAD
from qtheory.symbolic.proofs._mm1k import GIVEN, LETTERS, SOURCE, limited_law
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_LOST = helper("B", "B", "share of the arrivals that are lost")


def derivation() -> Derivation:
    """Share lost in M/M/1/K.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    B = ρ^K·p0; ρ = λ/μ; p0 = 1/sum[k=0..K](ρ^k)
    """
    steps, where = limited_law()
    formula = LOAD.symbol ** GIVEN[2].symbol * EMPTY.symbol
    return Derivation(
        name="mm1k_block",
        statement="Share lost in M/M/1/K: at most K customers present, at any load",
        exactness="exact",
        symbols=(*GIVEN, *LETTERS),
        steps=(
            *steps,
            Step(
                "A Poisson arrival finds K, and is lost, as often as they are present.", _LOST.symbol, formula
            ),
        ),
        quantity="prob_block",
        answer=_LOST,
        formula=formula,
        where=where,
        load=LOAD.symbol,
        is_limited=False,
        source=SOURCE,
    )
