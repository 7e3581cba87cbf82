"""The rate that a greedy batch server can follow."""

from __future__ import annotations

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._batch import SOURCE
from qtheory.symbolic.step import Step

__all__ = ["derivation"]

_RATE = helper("λ", r"\lambda", "arrival rate", "1/s")
_LIMIT = helper("λ_max", r"\lambda_\mathrm{max}", "rate below which the server is stable", "1/s")
_LETTERS = (
    helper("b", "b", "a batch"),
    helper("b_next", r"b_\mathrm{next}", "mean of the next batch"),
)


def derivation() -> Derivation:
    """Stability limit of a greedy batch server.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    λ_max = 1/slope
    """
    import sympy as sp

    given = parameters("base_s", "slope_s")
    base, slope, lam, batch, after = (letter.symbol for letter in (*given, _RATE, *_LETTERS))
    came = lam * (base + slope * batch)
    following = came + sp.exp(-came)
    change = sp.limit(sp.expand((following - batch) / batch), batch, sp.oo)
    formula = sp.solve(sp.Eq(change, 0), lam)[0]
    growth = sp.Limit((following - batch) / batch, batch, sp.oo, "-")
    return Derivation(
        name="batch_capacity",
        statement="Stability limit of a server that takes all who wait as one batch, at base + slope x batch "
        "seconds",
        exactness="exact",
        symbols=(_RATE, *given, *_LETTERS),
        steps=(
            Step("The next batch are the Poisson arrivals, one if there are none.", after, following),
            Step("Large batches grow by this share on average.", growth, change),
            Step("They shrink below the rate at which the share is zero.", _LIMIT.symbol, formula),
        ),
        quantity="capacity_rps",
        answer=_LIMIT,
        formula=formula,
        source=SOURCE,
    )
