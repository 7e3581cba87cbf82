"""Little's law, from the area under the number present."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import NUMBER
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_LETTERS = (
    helper("h", "h", "length of a period that starts and ends with nobody present", "s"),
    helper("j", "j", "customers who come in the period"),
    helper("N(u)", "N(u)", "number present at time u"),
    helper("a(i)", "a(i)", "arrival of customer i", "s"),
    helper("d(i)", "d(i)", "departure of customer i", "s"),
)


def derivation() -> Derivation:
    """Little's law.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    L = λ·T
    """
    import sympy as sp

    given = parameters("rate_rps", "mean_response_s")
    lam, mean, span, count = (letter.symbol for letter in (*given, *_LETTERS[:2]))
    i, u = sp.Symbol("i", integer=True), sp.Symbol("u", positive=True)
    present, came, left = (sp.Function(name) for name in ("N", "a", "d"))
    area = sp.Integral(present(u), (u, 0, span))
    stays = sp.Sum(sp.Integral(1, (u, came(i), left(i))), (i, 1, count))
    number = sp.solve(sp.Eq(NUMBER.symbol * span, (lam * span) * mean), NUMBER.symbol)[0]
    return Derivation(
        name="littles_law",
        statement="Little's law: the mean number present is the rate times the mean time spent",
        exactness="exact",
        symbols=(*given, *_LETTERS),
        steps=(
            Step("Each customer adds one to the number from arrival to departure.", area, stays),
            Step("So the area under the number is the sum of all times spent.", area, stays.doit()),
            Step("The area is the mean number times the period.", area, NUMBER.symbol * span),
            Step("The sum is the number of customers times their mean time.", stays.doit(), count * mean),
            Step("Customers came at the arrival rate.", count, lam * span),
            Step("Divided by the period, the two say.", NUMBER.symbol, number),
        ),
        quantity="mean_number",
        answer=NUMBER,
        formula=number,
        source="Little (1961), A proof for the queuing formula L = lambda W, Operations Research 9, 383-387",
    )
