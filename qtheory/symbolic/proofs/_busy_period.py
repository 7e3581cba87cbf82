"""Moments of the busy period of M/G/1, by differentiating Takacs' equation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD, in_idle, taylor_transform
from qtheory.symbolic.step import Step

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = ["MEAN", "SECOND", "busy_moment"]

MEAN = helper("E[B]", "E[B]", "mean busy period", "s")
SECOND = helper("E[B²]", "E[B^2]", "second moment of the busy period", "s^2")
_TRANSFORMS = (
    helper("b(s)", "b(s)", "Laplace transform of the busy period, s in 1/s"),
    helper("S(s)", "S(s)", "Laplace transform of the service time"),
)


def busy_moment(k: int, *, name: str, statement: str, quantity: str) -> Derivation:
    """The k-th moment, k = 1 or 2."""
    import sympy as sp

    rate, *moments = parameters("rate_rps", "mean_service_s", "service_second_s2")[: k + 1]
    unknown = (MEAN, SECOND)[:k]
    lam, rho, s = rate.symbol, LOAD.symbol, sp.Symbol("s", positive=True)
    busy, service = sp.Function("b")(s), sp.Function("S")
    series = taylor_transform(s, *(letter.symbol for letter in unknown))
    inner = s + lam - lam * series
    outer = taylor_transform(inner, *(moment.symbol for moment in moments))
    steps = [
        Step(
            "Whoever comes during the first service starts a busy period of the same kind.",
            busy,
            service(s + lam - lam * busy),
        )
    ]
    found: dict[Symbol, Expr] = {}
    for place, letter in enumerate(unknown, 1):
        left, right = (sp.expand(side.diff(s, place).subs(s, 0)) for side in (series, outer))
        solved = sp.solve(sp.Eq(left, right).subs(found), letter.symbol)[0]
        found[letter.symbol] = in_idle(solved.subs(lam, rho / moments[0].symbol), rho)
        order = ("once", "twice")[place - 1]
        steps += [Step(f"Differentiated {order}, at s = 0.", left, right)]
        steps += [Step("Solved for the moment.", letter.symbol, found[letter.symbol])]
    return Derivation(
        name=name,
        statement=statement,
        exactness="exact",
        symbols=(rate, *moments, LOAD, *unknown[:-1], *_TRANSFORMS),
        steps=tuple(steps),
        quantity=quantity,
        answer=unknown[-1],
        formula=steps[-1].right,
        where=((rho, lam * moments[0].symbol),),
        load=rho,
        source="Takacs (1962), Introduction to the Theory of Queues, Oxford University Press",
    )
