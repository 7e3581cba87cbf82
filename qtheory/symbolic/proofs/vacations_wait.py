"""Mean wait in M/G/1 with multiple vacations, from the transform of the virtual wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.symbolic.derivation import Derivation
from qtheory.symbolic.notation import helper, parameters
from qtheory.symbolic.proofs._algebra import LOAD, WAIT, in_idle, moment_from_transform, taylor_transform
from qtheory.symbolic.step import Step

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["derivation"]

_GIVEN = parameters(
    "rate_rps", "mean_service_s", "service_second_s2", "mean_vacation_s", "vacation_second_s2"
)
_STARTS = helper("h", "h", "vacations that start in a unit of time", "1/s")
_LETTERS = (
    helper("f(x)", "f(x)", "density of the time that an arrival would wait now", "1/s"),
    helper("G(x)", "G(x)", "probability that a service is longer than x"),
    helper("H(x)", "H(x)", "probability that a vacation is longer than x"),
    helper("w(s)", "w(s)", "Laplace transform of the wait, s in 1/s"),
    helper("S(s)", "S(s)", "Laplace transform of the service time"),
    helper("V(s)", "V(s)", "Laplace transform of the vacation"),
)


def derivation() -> Derivation:
    """Mean wait with vacations: that of M/G/1 plus a residual vacation.

    Examples
    --------
    >>> found = derivation()
    >>> print(found.formula_text, *found.where_text, sep="; ")
    W = λ·E[S²]/(2·(1 - ρ)) + E[V²]/(2·E[V]); ρ = λ·E[S]
    """
    steps, formula = _wait()
    return Derivation(
        name="vacations_wait",
        statement="Mean wait in M/G/1 with multiple vacations: that of M/G/1 plus a residual vacation",
        exactness="exact",
        symbols=(*_GIVEN, LOAD, _STARTS, *_LETTERS),
        steps=steps,
        quantity="mean_wait_s",
        answer=WAIT,
        formula=formula,
        where=((LOAD.symbol, _GIVEN[0].symbol * _GIVEN[1].symbol),),
        load=LOAD.symbol,
        source="Fuhrmann, Cooper (1985), Stochastic decompositions in the M/G/1 queue with generalized "
        "vacations, Operations Research 33, 1117-1129",
    )


def _wait() -> tuple[tuple[Step, ...], Expr]:
    """Balance of the crossings of each level, transformed, solved and taken apart."""
    import sympy as sp

    lam, _, m2, v1, v2 = (letter.symbol for letter in _GIVEN)
    h, rho, x, y, s = (_STARTS.symbol, LOAD.symbol, *(sp.Symbol(name, positive=True) for name in "xys"))
    f, longer, away = (sp.Function(name) for name in "fGH")
    wait, service, vacation = (sp.Function(name)(s) for name in "wSV")
    small = {service: taylor_transform(s, rho / lam, m2), vacation: taylor_transform(s, v1, v2)}
    crossed = lam * sp.Integral(f(y) * longer(x - y), (y, 0, x)) + h * away(x)
    lifted = (lam * wait * (1 - service) + h * (1 - vacation)) / s
    solved = sp.factor(sp.solve(sp.Eq(wait, lifted), wait)[0])
    starts = sp.solve(sp.Eq(sp.cancel(solved.subs(small)).subs(s, 0), 1), h)[0]
    alone, residual = (1 - rho) * s / (s - lam + lam * service), (1 - vacation) / (s * v1)
    if sp.simplify(solved.subs(h, starts) - alone * residual) != 0:
        raise ArithmeticError("the transform does not come apart")
    means = [moment_from_transform(part.subs(small), s, 1) for part in (alone, residual)]
    formula = sp.Add(*(in_idle(mean, rho) for mean in means))
    return (
        Step("The time to wait falls through x as often as an arrival or vacation lifts it.", f(x), crossed),
        Step("Transformed, the integral is a product.", wait, lifted),
        Step("Solved for the transform of the wait.", wait, solved),
        Step("At s = 0 it is one, which gives the rate of vacations.", h, in_idle(starts, rho)),
        Step(
            "The transform is that of M/G/1 times that of a residual vacation: two independent parts.",
            wait,
            sp.Mul(alone, residual, evaluate=False),
        ),
        Step("Their means, minus the slopes at zero, add up.", WAIT.symbol, formula),
    ), formula
