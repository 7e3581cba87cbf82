"""Mean number in M/M/1/K."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.proofs._algebra import EMPTY, LOAD, NUMBER
from qtheory.symbolic.proofs._mm1k import GIVEN, LETTERS, SOURCE, limited_law
from qtheory.symbolic.step import Step

__all__ = ["derivation"]


def derivation() -> Derivation:
    """Mean number in M/M/1/K.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    L = p0·sum[k=0..K](ρ^k·k); ρ = λ/μ; p0 = 1/sum[k=0..K](ρ^k)
    """
    import sympy as sp

    steps, where = limited_law()
    k = sp.Symbol("k", integer=True, nonnegative=True)
    formula = EMPTY.symbol * sp.Sum(k * LOAD.symbol**k, (k, 0, GIVEN[2].symbol))
    return Derivation(
        name="mm1k_number",
        statement="Mean number present in M/M/1/K: at most K customers present, at any load",
        exactness="exact",
        symbols=(*GIVEN, *LETTERS),
        steps=(*steps, Step("The mean weighs each number with its probability.", NUMBER.symbol, formula)),
        quantity="mean_number",
        answer=NUMBER,
        formula=formula,
        where=where,
        load=LOAD.symbol,
        is_limited=False,
        source=SOURCE,
    )
