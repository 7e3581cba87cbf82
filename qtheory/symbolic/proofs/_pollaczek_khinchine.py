"""The transform of the work in M/G/1, by level crossings: what the wait is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qtheory.symbolic.notation import Notation, helper
from qtheory.symbolic.proofs._algebra import EMPTY, LOAD
from qtheory.symbolic.step import Step

if TYPE_CHECKING:
    from sympy import Expr, Symbol

__all__ = ["LETTERS", "SOURCE", "WorkTransform", "work_transform"]

SOURCE = (
    "Kleinrock (1975), Queueing Systems I, Wiley, section 5.7; level crossings: Brill (2008), Level "
    "Crossing Methods in Stochastic Models, Springer"
)
LETTERS = (
    LOAD,
    EMPTY,
    helper("f(x)", "f(x)", "density of the work present", "1/s"),
    helper("G(x)", "G(x)", "probability that a service is longer than x"),
    helper("v(s)", "v(s)", "Laplace transform of the work present, s in 1/s"),
    helper("S(s)", "S(s)", "Laplace transform of the service time"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTransform:
    """The transform in s, with that of the service as a function, and the steps to it."""

    s: Symbol
    work: Expr
    service: Expr
    expr: Expr
    steps: tuple[Step, ...]

    def with_service(self, transform: Expr) -> Expr:
        """The transform with this one of the service; nobody is present for the idle share."""
        return self.expr.subs({self.service: transform, EMPTY.symbol: 1 - LOAD.symbol})


def work_transform(rate: Notation) -> WorkTransform:
    """Balance of the crossings of each level, transformed and solved."""
    import sympy as sp

    x, y, s = (sp.Symbol(name, positive=True) for name in "xys")
    f, longer = sp.Function("f"), sp.Function("G")
    work, service = sp.Function("v")(s), sp.Function("S")(s)
    lam, p0, unknown = rate.symbol, EMPTY.symbol, sp.Symbol("unknown")
    lifted = lam * work * (1 - service) / s
    expr = sp.solve(sp.Eq(unknown - p0, lifted.subs(work, unknown)), unknown)[0]
    crossed = lam * p0 * longer(x) + lam * sp.Integral(f(y) * longer(x - y), (y, 0, x))
    steps = (
        Step("The work falls through a level x as often as an arrival lifts it above x.", f(x), crossed),
        Step("Transformed, the right side is a product.", work - p0, lifted),
        Step("Solved for the transform of the work.", work, expr),
    )
    return WorkTransform(s=s, work=work, service=service, expr=expr, steps=steps)
