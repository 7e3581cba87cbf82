"""The law of the number in M/M/c, from balance equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import EMPTY, LOAD, STATE, endless_sum, in_idle
from qtheory.symbolic.step import Step

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = ["GIVEN", "LETTERS", "PROB_WAIT", "SOURCE", "WaitingLaw", "waiting_law"]

SOURCE = "Kleinrock (1975), Queueing Systems I, Wiley, section 3.5"
GIVEN = parameters("rate_rps", "service_rate_rps", "n_servers")
_OFFERED = helper("a", "a", "offered load: mean number of busy servers")
LETTERS = (_OFFERED, LOAD, EMPTY, STATE)
PROB_WAIT = helper("C", "C", "probability that an arrival waits")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingLaw:
    """P(c + j present) by j, the chance of a wait, the steps, and the short forms used."""

    j: Symbol
    queued: Expr
    prob_wait: Expr
    steps: tuple[Step, ...]
    where: tuple[tuple[Symbol, Expr], ...]


def waiting_law() -> WaitingLaw:
    """Both parts of the law: up to c present, and beyond."""
    import sympy as sp

    lam, mu, c, a, rho, p0 = (letter.symbol for letter in (*GIVEN, _OFFERED, LOAD, EMPTY))
    n, j = (sp.Symbol(name, integer=True, nonnegative=True) for name in "nj")
    k, p, full = sp.Symbol("k", integer=True), sp.Function("p"), sp.Symbol("full", positive=True)
    law = sp.rsolve(sp.Eq((n + 1) * p(n + 1), a * p(n)), p(n), {p(0): p0})
    beyond = sp.rsolve(sp.Eq(p(j + 1), rho * p(j)), p(j), {p(0): full})
    queued = beyond.subs(full, law.subs(n, c))
    prob_wait = in_idle(endless_sum(beyond, j), rho).subs(full, law.subs(n, c))
    below = sp.Sum(law.subs(n, k) / p0, (k, 0, c - 1))
    empty = 1 / (below + prob_wait / p0)
    steps = (
        Step("With n < c busy, up as often as down.", lam * p(n), (n + 1) * mu * p(n + 1)),
        Step("So up to c the numbers follow the terms of the exponential series.", p(n), law),
        Step("With all busy the way down is always c times the rate.", lam * p(c + j), c * mu * p(c + j + 1)),
        Step("So beyond c they fall by the load.", p(c + j), queued),
        Step("Probabilities sum to one.", p0, empty),
        Step("A Poisson arrival waits if it finds c or more.", PROB_WAIT.symbol, prob_wait),
    )
    where = ((a, lam / mu), (rho, lam / (c * mu)), (p0, empty))
    return WaitingLaw(j=j, queued=queued, prob_wait=prob_wait, steps=steps, where=where)
