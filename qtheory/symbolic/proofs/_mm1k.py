"""The law of the number in M/M/1/K, from balance equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.symbolic.notation import parameters
from qtheory.symbolic.proofs._algebra import EMPTY, LOAD, STATE
from qtheory.symbolic.step import Step

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = ["GIVEN", "LETTERS", "SOURCE", "limited_law"]

SOURCE = "Kleinrock (1975), Queueing Systems I, Wiley, section 3.6"
GIVEN = parameters("rate_rps", "service_rate_rps", "capacity")
LETTERS = (LOAD, EMPTY, STATE)


def limited_law() -> tuple[tuple[Step, ...], tuple[tuple[Symbol, Expr], ...]]:
    """Steps to p(n), and the short forms; the sums hold at any load, 1 included."""
    import sympy as sp

    lam, mu, room, rho, p0 = (letter.symbol for letter in (*GIVEN, LOAD, EMPTY))
    n, k = (sp.Symbol(name, integer=True, nonnegative=True) for name in "nk")
    p = sp.Function("p")
    law = sp.rsolve(sp.Eq(p(n + 1), rho * p(n)), p(n), {p(0): p0})
    whole = sp.Sum(law.subs(n, k) / p0, (k, 0, room))
    at_other_loads = whole.doit().args[-1].expr
    empty = 1 / whole
    return (
        Step("Below K the number goes from n to n + 1 as often as back.", lam * p(n), mu * p(n + 1)),
        Step("So each state has the load times the share of the one below.", p(n), law),
        Step("Probabilities up to K sum to one.", p0, empty),
        Step("Unless the load is 1, the sum is short.", whole, at_other_loads),
    ), ((rho, lam / mu), (p0, empty))
